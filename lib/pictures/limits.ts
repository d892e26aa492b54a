/** A photo of a phone fits. One that is decoded takes up to 200 MB, which is why only one is at a time. */
export const maxPixels = 50_000_000
