import type { Permission } from "@/lib/permissions"
import { keyPrefixes } from "@/lib/product"

export const kinds = {
  admin: {
    prefix: keyPrefixes.admin[0],
    title: "Admin keys",
    page: "/admin/api-keys",
    api: "/api/v1/admin",
    test: "/api/v1/admin/key",
    issuePermission: "api_keys.manage",
    managingAll: "api_keys.manage_all",
    reportedToOwners: true,
    asksForProof: true,
  },
  user: {
    prefix: keyPrefixes.user[0],
    title: "API keys",
    page: "/api-keys",
    api: "/api/v1/me",
    test: "/api/v1/me/key",
    issuePermission: null,
    managingAll: null,
    reportedToOwners: false,
    asksForProof: false,
  },
} as const satisfies Record<string, Kind>

type Kind = {
  prefix: string
  title: string
  page: string
  api: string
  /** What every key may read, whatever its scopes. */
  test: string
  issuePermission: Permission | null
  /** The permission to read and revoke the keys of other accounts on the page, if there is one. */
  managingAll: Permission | null
  /** Whether accounts with the role owner get an email about each new key. */
  reportedToOwners: boolean
  /** Whether a key is created, rotated and changed only with a fresh proof; a leaked one is revoked without. */
  asksForProof: boolean
}

export type Surface = keyof typeof kinds

export const surfaces = Object.keys(kinds) as Surface[]

/** A regular expression for the prefix of any key, old or new. */
export const anyPrefix = `(?:${Object.values(keyPrefixes).flat().join("|")})`
