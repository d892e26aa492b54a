import type { Permission } from "./permissions"
import { keyPrefixes } from "./product"

/** The two kinds of key and all their differences. */
export const kinds = {
  admin: {
    prefix: keyPrefixes.admin[0],
    title: "Admin keys",
    page: "/admin/api-keys",
    api: "/api/v1/admin",
    issuing: "api_keys.manage",
    /** The page lists the keys of every owner, and every account that may open it may revoke them. */
    shared: true,
  },
  user: {
    prefix: keyPrefixes.user[0],
    title: "API keys",
    page: "/api-keys",
    api: "/api/v1/me",
    issuing: null,
    shared: false,
  },
} as const satisfies Record<string, Kind>

type Kind = {
  /** The prefix of new keys. */
  prefix: string
  title: string
  page: string
  api: string
  issuing: Permission | null
  shared: boolean
}

export type Surface = keyof typeof kinds

export const surfaces = Object.keys(kinds) as Surface[]

/** A regular expression for the prefix of any key, old or new. */
export const anyPrefix = `(?:${Object.values(keyPrefixes).flat().join("|")})`
