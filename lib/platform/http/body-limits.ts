/** Next decodes a whole form in one step, before any check, and the process serves nothing during that step. */
export const maxFormBytes = 64 * 1024

/** The one path that accepts a larger form: it authenticates before it decodes. */
export const uploadPath = "/account/settings/picture"

export const maxPictureBytes = 5 * 1024 * 1024

/** Includes the parts of the form around the file. */
export const maxUploadBytes = maxPictureBytes + 4 * 1024

export function maxBytesOf(method: string, path: string): number {
  if (method !== "POST") return 0
  return path === uploadPath ? maxUploadBytes : maxFormBytes
}

export const tooLarge = "This form is too large."
