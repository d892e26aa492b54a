declare const branded: unique symbol

/** The id of an authenticated account. Only authenticate.ts and session.ts create one, so it never comes from input. */
export type OwnerId = string & { readonly [branded]: "OwnerId" }
