import type { User } from "@/generated/prisma/client"

declare const branded: unique symbol

/** Only authenticate.ts and session-rows.ts create one, so it never comes from input. */
export type OwnerId = string & { readonly [branded]: "OwnerId" }

export type Owner = Pick<User, "email" | "name" | "role"> & { id: OwnerId }
