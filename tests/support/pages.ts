import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Permission, Role } from "@/lib/permissions"
import { root } from "@/scripts/root"
import * as yours from "@/tests/yours/reviewed"
import { isLong } from "./sample"

// The pages of the product: every test and measurement that visits them reads this table, written by hand.

/** Guests' pages redirect signed-in accounts; a later step of a sign-in redirects everyone who is not at that step. */
export type PageAccess = "everyone" | "guests" | "second step" | "accounts" | "demo" | Permission

export type PageRow = {
  /** As in `app`. */
  path: string
  access: PageAccess
  /** The text of its `h1`. */
  title: string | RegExp
  /** The addresses to look at, unless it is the path or the link in the first row of a list. */
  examples?: readonly string[]
  /** Suffixes of its address for further states in the long form. */
  states?: readonly string[]
  /** The part of the sidebar that links to it. The pages of a part are in its order. */
  sidebar?: "account" | "administration"
  /** Whether it is a list of the console, a `<ResourcePage>`. */
  isList?: true
  /** The page that the first row of its list opens. */
  opens?: string
  /** Whether its folder may have been deleted. */
  isOptional?: true
}

const account = "/admin/users/[id]"
const ofKey = /(Active|Expires in \d+ days?)$/

const mine = { access: "accounts" } as const
const inSidebar = { ...mine, sidebar: "account" } as const
const inConsole = { sidebar: "administration" } as const
const list = { ...inConsole, isList: true } as const
const ofAccounts = { ...list, opens: account } as const

/** A team writes its own start page. */
const startPage = readFileSync(join(root, "app/page.tsx"), "utf8")
const startHeading = /<h1\b[^>]*>\s*([^<{]*\S)\s*<\/h1>/.exec(startPage)?.[1] ?? /\S/

const ours: readonly PageRow[] = [
  { path: "/", access: "everyone", title: startHeading },
  { path: "/sign-in", access: "guests", title: "Sign in" },
  { path: "/sign-in/confirm", access: "second step", title: "Confirm your sign-in" },
  { path: "/sign-in/deletion", access: "second step", title: "Your account will be deleted" },
  { path: "/sign-up", access: "guests", title: "Create account" },
  { path: "/reset-password", access: "everyone", title: "Reset password" },
  { path: "/reset-password/[token]", access: "everyone", title: "Set a new password", examples: ["/reset-password/x"] },
  { path: "/verify", access: "everyone", title: "Check your email" },
  { path: "/verify/[token]", access: "everyone", title: "Confirm your email address", examples: ["/verify/x"] },
  { path: "/dev/components", access: "demo", title: "Components" },
  { path: "/dev/mailbox", access: "demo", title: "Mailbox" },
  { path: "/waitlist", access: "everyone", title: "Join the waitlist", isOptional: true },
  {
    path: "/pricing",
    access: "everyone",
    title: "Pricing",
    states: ["?interval=year"],
    isOptional: true,
  },
  { path: "/for-operators", access: "everyone", title: "For operators" },
  { path: "/docs", access: "everyone", title: "API reference" },
  { path: "/docs/quickstart", access: "everyone", title: "Quickstart" },
  {
    path: "/docs/search",
    access: "everyone",
    title: "Search the documents",
    examples: ["/docs/search?q=idempotency"],
    states: ["?q=pagnation"],
  },
  { path: "/docs/[surface]", access: "everyone", title: / API$/, examples: ["/docs/user", "/docs/admin"] },
  { path: "/docs/leaks", access: "everyone", title: "Report leaked keys" },
  { path: "/account", ...inSidebar, title: "Home" },
  {
    path: "/api-keys",
    ...inSidebar,
    title: "API keys",
    examples: ["/api-keys", "/api-keys?new"],
    opens: "/api-keys/[id]",
  },
  { path: "/api-keys/[id]", ...mine, title: ofKey, states: ["?status=gone"] },
  { path: "/api-keys/[id]/report", ...mine, title: /^What “.+” did$/ },
  { path: "/account/credits", ...inSidebar, title: "Credits" },
  { path: "/account/credits/entries", ...mine, title: "Ledger entries", states: ["?kind=grant"] },
  { path: "/account/plan", ...inSidebar, title: "Plan", states: ["?interval=year"], isOptional: true },
  {
    path: "/account/requests",
    ...inSidebar,
    title: "Requests",
    states: ["?until=2000-01-01"],
    opens: "/account/requests/[id]",
  },
  { path: "/account/requests/[id]", ...mine, title: /^(GET|POST) \/api\/v1\// },
  { path: "/account/orders", ...inSidebar, title: "Your orders" },
  { path: "/account/settings", ...inSidebar, title: "Settings" },
  { path: "/account/security", ...inSidebar, title: "Security" },
  { path: "/account/security/two-factor", ...mine, title: "Two-factor authentication" },
  { path: "/feedback", ...inSidebar, title: "Send feedback", isOptional: true },
  { path: "/admin", ...inConsole, access: "admin.access", title: "Overview" },
  { path: "/admin/users", ...ofAccounts, access: "users.read", title: "Accounts" },
  { path: account, access: "users.read", title: /(Active|Banned|Closed)$/ },
  { path: "/admin/feedback", ...ofAccounts, access: "feedback.read", title: "Feedback", isOptional: true },
  { path: "/admin/waitlist", ...list, access: "waitlist.read", title: "Waitlist", isOptional: true },
  { path: "/admin/subscriptions", ...ofAccounts, access: "billing.read", title: "Subscriptions" },
  { path: "/admin/orders", ...ofAccounts, access: "billing.read", title: "Orders" },
  { path: "/admin/credits/balances", ...ofAccounts, access: "credits.read", title: "Credit balances" },
  { path: "/admin/credits", ...ofAccounts, access: "credits.read", title: "Credit ledger" },
  { path: "/admin/billing", ...inConsole, access: "billing.read", title: "Payments", isOptional: true },
  { path: "/admin/billing/purchase", access: "billing.manage", title: "Record a purchase", isOptional: true },
  {
    path: "/admin/requests",
    ...list,
    access: "audit.read",
    title: "API requests",
    opens: "/admin/requests/[id]",
  },
  { path: "/admin/requests/[id]", access: "audit.read", title: /^(GET|POST) \/api\/v1\// },
  { path: "/admin/usage", ...ofAccounts, access: "audit.read", title: "API usage" },
  { path: "/admin/audit", ...ofAccounts, access: "audit.read", title: "Audit log", isOptional: true },
  { path: "/admin/emails", ...ofAccounts, access: "email.read", title: "Emails", isOptional: true },
  {
    path: "/admin/api-keys",
    ...inConsole,
    access: "api_keys.manage",
    title: "Admin keys",
    examples: ["/admin/api-keys", "/admin/api-keys?show=all"],
    states: ["?health=any", "?new"],
    opens: "/admin/api-keys/[id]",
  },
  { path: "/admin/api-keys/[id]", access: "api_keys.manage", title: ofKey },
  { path: "/admin/api-keys/[id]/report", access: "api_keys.manage", title: /^What “.+” did$/ },
]

const all = ours.flatMap((page) => [page, ...yours.pages.filter(({ after }) => after === page.path)])

export const pages = all.filter(({ path, isOptional }) => !isOptional || isPresent(path))

/** The pages that a part of the sidebar links to. */
export function pagesOf(sidebar: PageRow["sidebar"]): PageRow[] {
  return pages.filter((page) => page.sidebar === sidebar)
}

/** Whether a page exists: the folders of an optional module may have been deleted. */
export function isPresent(path: string): boolean {
  return existsSync(join(root, "app", path, "page.tsx"))
}

/** A page as a visitor or as the demo account of a role sees it. */
export type Look = {
  page: PageRow
  /** As in the names of its screenshots. */
  name: string
  viewer: Role | undefined
  /** Its address, or that of the list whose first row leads to it. */
  address: string
  /** The suffix of the address that the first row of the list opens. */
  below?: string
}

const notFound: PageRow = { path: "/not-found", access: "everyone", title: "Page not found" }

/** The pages to look at, except the second step of a sign-in and the demo's own pages, which need preparation. */
export const looks: readonly Look[] = [notFound, ...pages]
  .filter(({ access }) => access !== "second step" && access !== "demo")
  .flatMap((page) => addressesOf(page).map((look) => ({ ...look, page, viewer: viewerOf(page) })))

function viewerOf({ access }: PageRow): Role | undefined {
  if (access === "accounts") return "member"
  return access === "everyone" || access === "guests" ? undefined : "admin"
}

function addressesOf({ path, examples = [path], states = [] }: PageRow): Pick<Look, "name" | "address" | "below">[] {
  const more = isLong ? states : []
  const opening = pages.find(({ opens }) => opens && path.startsWith(opens))
  if (!opening) {
    const addresses = [...examples, ...more.map((state) => path + state)]
    return addresses.map((address) => ({ name: nameOf(address), address }))
  }
  const below = path.slice(opening.opens?.length)
  return ["", ...more].map((state) => ({ name: nameOf(path + state), address: opening.path, below: below + state }))
}

/** `/admin/users/[id]` is `admin-users-id`. */
function nameOf(address: string): string {
  return address.match(/\w+/g)?.join("-") ?? "start"
}
