import type { Permission } from "@/lib/permissions"
import type { PageRow } from "@/tests/support/pages"

// The lines of your product in the tables that are written by hand and reviewed. Each test that misses a line names it.

/** Who may call each endpoint: see tests/http/reviewed-access.ts. */
export const access: Record<string, "user key" | "admin key" | Permission> = {}

/** The roles that hold each permission of lib/yours/permissions.ts: see tests/http/access/tables.ts. */
export const holders = {}

/** Whether each action asks for a fresh proof, or why not: see tests/http/reviewed-proof.ts. */
export const proof: Record<string, true | string> = {}

/** The text columns that the console and the admin API show, with the permission to read them. */
export const shown: Record<string, Permission> = {}

/** Your pages, in the order of the sidebar. `after` is the path of the page before them. */
export const pages: readonly (PageRow & { after: string })[] = []

/** Optional modules: each is removed by deleting its folders. */
export const modules: readonly string[] = []
