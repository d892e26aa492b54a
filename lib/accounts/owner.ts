declare const branded: unique symbol

/** The id of an authenticated account. Only authenticate.ts and session.ts make one, so no query can take a caller's word. */
export type OwnerId = string & { readonly [branded]: "OwnerId" }
