import type { Permission } from "@/lib/permissions"
import * as yours from "@/tests/yours/reviewed"
import { reviewedAccess } from "../reviewed-access"

// The access rules, written by hand. Pages, routes and forms are read from the build: one without a row fails by name.
// A row without a counterpart in the build belongs to a removed module.

/** The roles that hold a permission. */
export const holders: Record<Permission, string> = {
  "admin.access": "owner admin analyst support finance",
  "users.read": "owner admin analyst support",
  "users.manage": "owner admin",
  "notes.manage": "owner admin support",
  "owners.manage": "owner",
  "billing.read": "owner admin analyst finance bookkeeper",
  "billing.manage": "owner admin finance",
  "credits.read": "owner admin analyst finance",
  "credits.manage": "owner admin",
  "audit.read": "owner admin analyst",
  "email.read": "owner admin analyst support",
  "feedback.read": "owner admin analyst support",
  "feedback.manage": "owner admin support",
  "waitlist.read": "owner admin analyst support",
  "waitlist.manage": "owner admin support",
  "api_keys.manage": "owner admin analyst finance bookkeeper",
  "api_keys.manage_all": "owner admin",
  ...yours.holders,
}

export const roles = ["owner", "admin", "analyst", "support", "finance", "bookkeeper", "member"]

/** Roles without a page's permission that may read other console pages are redirected to the first of them. */
export const redirectedRoles: Record<string, string> = { "/admin": "bookkeeper" }

/** The redirects of roles that may not open the console's overview. */
export const landingPages: Record<string, string> = { member: "/account", bookkeeper: "/admin/subscriptions" }

/** Operators authenticate with a metrics token, which none of the callers below has. */
export const routes: Record<
  string,
  | "everyone"
  | "no caller"
  | "reporters"
  | "GitHub"
  | "payment provider"
  | "operators"
  | "sign-in page"
  | "demo"
  | "sessions"
  | "own forms"
  | "pictures"
  | "user key"
  | "admin key"
  | Permission
> = {
  "/healthz": "everyone",
  "/readyz": "everyone",
  "/metrics": "operators",
  "/.well-known/agent-skills/index.json": "everyone",
  "/.well-known/security.txt": "everyone",
  "/.well-known/[...path]": "no caller",
  "/mcp/[[...path]]": "no caller",
  "/mcp/admin": "admin key",
  "/mcp/me": "user key",
  "/apple-icon": "everyone",
  "/icon": "everyone",
  "/opengraph-image": "everyone",
  "/robots.txt": "everyone",
  "/sitemap.xml": "everyone",
  "/llms.txt": "everyone",
  "/api/[[...path]]": "no caller",
  // Its own test covers the paths that next-auth serves below it.
  "/api/auth/[...nextauth]": "no caller",
  "/api/leaks": "reporters",
  "/api/leaks/github": "GitHub",
  "/api/billing/stripe": "payment provider",
  "/sign-in/clear": "sign-in page",
  "/dev/mailbox/[id]": "demo",
  // A test of their own requests them for keys that exist.
  "/api-keys/[id]/count": "sessions",
  "/api-keys/[id]/report/[format]": "sessions",
  "/admin/api-keys/[id]/count": "sessions",
  "/admin/api-keys/[id]/report/[format]": "sessions",
  // Tests of their own, in streams.test.ts, request the lists.
  "/account/csv/[resource]": "sessions",
  "/admin/csv/[...resource]": "sessions",
  // Without a session, it finds documents. Its other rows have the permissions of lists: lib/keys/data.test.ts and
  // e2e/palette.spec.ts.
  "/find": "everyone",
  // Tests of their own, in pictures.test.ts, upload pictures and request them.
  "/account/settings/picture": "own forms",
  // Tests of their own, in leaving.test.ts, download exports.
  "/account/settings/export": "own forms",
  "/pictures/[version]": "pictures",
  "/api/v1/openapi.json": "everyone",
  "/api/v1/admin/skill.md": "everyone",
  "/api/v1/me/skill.md": "everyone",
  "/api/v1/secret-pattern.json": "everyone",
  ...reviewedAccess,
}

/** A question for metrics, which require the permission of its measures. */
export const questions: Record<string, { search: string; access: Permission }> = {
  "/api/v1/admin/metrics": { search: "?measure=granted&since=2026-01-01&until=2026-01-31", access: "credits.read" },
}

/** Routes that return the same status to every caller. */
export const sameForAll: Record<string, string> = {
  everyone: "200",
  "no caller": "404 not_found",
  reporters: "202",
  // Its own test signs messages as GitHub does.
  GitHub: "403 invalid_signature",
  // Its own test signs events as the provider does.
  "payment provider": "400 bad_request",
  demo: "404",
  pictures: "404",
  "own forms": "403",
  operators: "401",
  "sign-in page": "307",
}

/** The bodies for routes outside the table of endpoints. */
export const posted: Record<string, object> = {
  "/mcp/admin": { jsonrpc: "2.0", id: 1, method: "tools/list" },
  "/mcp/me": { jsonrpc: "2.0", id: 1, method: "tools/list" },
  "/api/leaks": { keys: ["a text that is no key"] },
  "/api/leaks/github": [],
  "/api/billing/stripe": {},
  "/account/settings/picture": {},
  "/account/settings/export": {},
}

export function isHolder(role: string, access: string): boolean {
  return access === "accounts" || access.endsWith(" key") || holders[access as Permission].split(" ").includes(role)
}
