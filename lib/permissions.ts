/** What each permission lets its holder do; the admin API and the console ask for the same ones. */
export const permissions = {
  "admin.access": "Open the overview and read the statistics",
  "users.read": "Read every account",
  "users.manage": "Ban, unban and close accounts, change roles",
  "billing.read": "Read subscriptions and orders",
  "credits.read": "Read the credit ledger and balances",
  "credits.manage": "Grant and deduct credits",
  "audit.read": "Read the audit log",
  "email.read": "Read the e-mail log",
  "feedback.read": "Read feedback",
  "waitlist.read": "Read the waitlist",
  "api_keys.manage": "Issue and revoke admin keys",
} as const

export type Permission = keyof typeof permissions

const all = Object.keys(permissions) as Permission[]

/** The roles and what each holds. A key carries its owner's role of today, not the one it was issued under. */
export const roles = {
  owner: all,
  admin: all,
  analyst: all.filter((name) => name.endsWith(".read") || name === "admin.access" || name === "api_keys.manage"),
  support: ["admin.access", "users.read", "email.read", "feedback.read", "waitlist.read"],
  finance: ["admin.access", "billing.read", "credits.read", "api_keys.manage"],
  bookkeeper: ["billing.read", "api_keys.manage"],
  member: [],
} as const satisfies Record<string, readonly Permission[]>

export type Role = keyof typeof roles

export const roleNames = Object.keys(roles) as [Role, ...Role[]]

export function isRole(value: string): value is Role {
  return Object.hasOwn(roles, value)
}

/** A role this version does not know holds nothing. */
export function holds(role: string, permission: Permission): boolean {
  return isRole(role) && (roles[role] as readonly Permission[]).includes(permission)
}
