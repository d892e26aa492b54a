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
  test: string
  issuePermission: Permission | null
  managingAll: Permission | null
  reportedToOwners: boolean
  asksForProof: boolean
}

export type Surface = keyof typeof kinds

export const surfaces = Object.keys(kinds) as Surface[]

/** Of a key or of its first characters. */
export function surfaceOf(start: string): Surface {
  return keyPrefixes.admin.some((prefix) => start.startsWith(prefix)) ? "admin" : "user"
}

export const anyPrefix = `(?:${Object.values(keyPrefixes).flat().join("|")})`
