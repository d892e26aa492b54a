import type { Permission } from "./permissions"

/** The two kinds of key and all their differences. */
export const kinds = {
  admin: {
    prefix: "tsk_adm_",
    title: "Admin keys",
    page: "/admin/api-keys",
    api: "/api/v1/admin",
    issuing: "api_keys.manage",
    /** The page lists the keys of every owner, and every account that may open it may revoke them. */
    shared: true,
  },
  user: {
    prefix: "tsk_usr_",
    title: "API keys",
    page: "/api-keys",
    api: "/api/v1/me",
    issuing: null,
    shared: false,
  },
} as const satisfies Record<string, Kind>

type Kind = {
  prefix: `tsk_${string}_`
  title: string
  page: string
  api: string
  issuing: Permission | null
  shared: boolean
}

export type Surface = keyof typeof kinds

export const surfaces = Object.keys(kinds) as Surface[]
