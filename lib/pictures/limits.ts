/** A photo of a phone fits. A decoded one takes up to 200 MB, so one at a time is decoded. */
export const maxPixels = 50_000_000
