import type { Page } from "@playwright/test"
import type { Role } from "@/lib/permissions"
import { isPresent } from "./pages"

/** A page as a visitor or as the demo account of a role sees it. */
export type Visit = {
  name: string
  path: string
  viewer?: Role
  /** Whether it is the page that the first row of a list opens. */
  ofRow?: true
}

const all: readonly Visit[] = [
  { name: "start", path: "/" },
  { name: "sign-in", path: "/sign-in" },
  { name: "sign-up", path: "/sign-up" },
  { name: "reset-password", path: "/reset-password" },
  { name: "waitlist", path: "/waitlist" },
  { name: "docs", path: "/docs" },
  { name: "docs-user", path: "/docs/user" },
  { name: "docs-leaks", path: "/docs/leaks" },
  { name: "not-found", path: "/no-such-page" },
  { name: "api-keys", path: "/api-keys", viewer: "member" },
  { name: "key", path: "/api-keys", viewer: "member", ofRow: true },
  { name: "new-key", path: "/api-keys?new", viewer: "member" },
  { name: "account", path: "/account", viewer: "member" },
  { name: "credits", path: "/account/credits", viewer: "member" },
  { name: "entries", path: "/account/credits/entries", viewer: "member" },
  { name: "requests", path: "/account/requests", viewer: "member" },
  { name: "orders", path: "/account/orders", viewer: "member" },
  { name: "settings", path: "/account/settings", viewer: "member" },
  { name: "security", path: "/account/security", viewer: "member" },
  { name: "two-factor", path: "/account/security/two-factor", viewer: "member" },
  { name: "feedback", path: "/feedback", viewer: "member" },
  { name: "admin", path: "/admin", viewer: "admin" },
  { name: "admin-users", path: "/admin/users", viewer: "admin" },
  { name: "admin-account", path: "/admin/users", viewer: "admin", ofRow: true },
  { name: "admin-feedback", path: "/admin/feedback", viewer: "admin" },
  { name: "admin-waitlist", path: "/admin/waitlist", viewer: "admin" },
  { name: "admin-subscriptions", path: "/admin/subscriptions", viewer: "admin" },
  { name: "admin-orders", path: "/admin/orders", viewer: "admin" },
  { name: "admin-balances", path: "/admin/credits/balances", viewer: "admin" },
  { name: "admin-credits", path: "/admin/credits", viewer: "admin" },
  { name: "admin-requests", path: "/admin/requests", viewer: "admin" },
  { name: "admin-usage", path: "/admin/usage", viewer: "admin" },
  { name: "admin-audit", path: "/admin/audit", viewer: "admin" },
  { name: "admin-emails", path: "/admin/emails", viewer: "admin" },
  { name: "admin-api-keys", path: "/admin/api-keys", viewer: "admin" },
]

export const everyPage = all.filter(({ path }) => path === "/no-such-page" || isPresent(folderOf(path)))

/** Of the pages of an API, their common one. */
function folderOf(path: string): string {
  return path.replace(/\?.*/, "").replace("/docs/user", "/docs")
}

export async function openPage(page: Page, { path, ofRow }: Visit, address = ""): Promise<void> {
  await page.goto(address + path, { waitUntil: "networkidle" })
  if (!ofRow) return
  const href = await page.locator("main tbody a").first().getAttribute("href")
  await page.goto(address + href, { waitUntil: "networkidle" })
}
