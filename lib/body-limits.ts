import { maxUploadBytes, uploadPath } from "./pictures/upload"

/**
 * The largest form, in bytes: several times the longest text of a form. Next decodes all its parts at once, before any
 * check, and serves nothing meanwhile.
 */
export const maxFormBytes = 64 * 1024

/** The largest body of a request to a page, in bytes. Only forms have one. */
export function maxBytesOf(method: string, path: string): number {
  if (method !== "POST") return 0
  return path === uploadPath ? maxUploadBytes : maxFormBytes
}

export const tooLarge = "This form is too large."
