/**
 * The largest form, in bytes: several times the longest text of a form. Next decodes all its parts at once, before any
 * check, and serves nothing meanwhile.
 */
export const maxFormBytes = 64 * 1024

/** Where a picture is uploaded: the one path that takes a form of this size, and authenticates before it decodes it. */
export const uploadPath = "/account/settings/picture"

export const maxPictureBytes = 5 * 1024 * 1024

/** With what a form has around the file. */
export const maxUploadBytes = maxPictureBytes + 4 * 1024

/** The largest body of a request to a page, in bytes. Only forms have one. */
export function maxBytesOf(method: string, path: string): number {
  if (method !== "POST") return 0
  return path === uploadPath ? maxUploadBytes : maxFormBytes
}

export const tooLarge = "This form is too large."
