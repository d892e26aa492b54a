/** SQL of what replaces the address of a deleted row: no two are equal, and none can be written to. */
export const deletedAddress = "'deleted+' || id || '@invalid'"

export function isDeletedAddress(email: string): boolean {
  return /^deleted\+[0-9a-f-]{36}@invalid$/.test(email)
}
