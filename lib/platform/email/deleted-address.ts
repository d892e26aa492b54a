/** SQL. No two addresses are equal, and none can receive an email. */
export const deletedAddress = "'deleted+' || id || '@invalid'"

export function isDeletedAddress(email: string): boolean {
  return /^deleted\+[0-9a-f-]{36}@invalid$/.test(email)
}
