import type { User } from "@/generated/prisma/client"

declare const branded: unique symbol

/** The id of an authenticated account. Only authenticate.ts and session-rows.ts create one, so it never comes from input. */
export type OwnerId = string & { readonly [branded]: "OwnerId" }

/** An authenticated account: the owner of a key, or the viewer of a page. */
export type Owner = Pick<User, "email" | "name" | "role"> & { id: OwnerId }
