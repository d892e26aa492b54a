/** A phone's photo fits. A decoded picture takes up to 200 MB, so one at a time is decoded. */
export const maxPixels = 50_000_000
