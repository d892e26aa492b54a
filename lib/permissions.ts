import * as yours from "@/lib/yours/permissions"

export const permissions = {
  "admin.access": "Open the overview and read the statistics, without money",
  "users.read": "Read every account",
  "users.manage": "Ban, unban and close accounts, change roles",
  "notes.manage": "Add notes to accounts",
  "owners.manage": "The same for owners and admins",
  "billing.read": "Read subscriptions and orders",
  "billing.manage": "Refund orders, cancel subscriptions, record purchases",
  "credits.read": "Read the credit ledger and balances",
  "credits.manage": "Grant and deduct credits",
  "audit.read": "Read the audit log and the requests with every key",
  "email.read": "Read the email log",
  "feedback.read": "Read feedback",
  "feedback.manage": "Review, resolve and reply to feedback",
  "waitlist.read": "Read the waitlist",
  "waitlist.manage": "Invite addresses on the waitlist",
  "api_keys.manage": "Create and revoke one's own admin keys",
  "api_keys.manage_all": "Read and revoke the admin keys of other accounts",
  ...yours.permissions,
} as const

export type Permission = keyof typeof permissions

const all = Object.keys(permissions) as Permission[]

/** A key has its owner's current role, not the role at the time it was issued. */
export const roles = {
  owner: all,
  admin: all.filter((name) => name !== "owners.manage"),
  analyst: all.filter((name) => name.endsWith(".read") || name === "admin.access" || name === "api_keys.manage"),
  support: [
    ...(["admin.access", "users.read", "notes.manage", "email.read"] as const),
    ...(["feedback.read", "feedback.manage", "waitlist.read", "waitlist.manage"] as const),
    ...yours.roles.support,
  ],
  finance: [
    ...(["admin.access", "billing.read", "billing.manage", "credits.read", "api_keys.manage"] as const),
    ...yours.roles.finance,
  ],
  bookkeeper: ["billing.read", "api_keys.manage", ...yours.roles.bookkeeper],
  member: [],
} as const satisfies Record<string, readonly Permission[]>

export type Role = keyof typeof roles

export const roleNames = Object.keys(roles) as [Role, ...Role[]]

export function isRole(value: string): value is Role {
  return Object.hasOwn(roles, value)
}

export function isPermission(value: string): value is Permission {
  return Object.hasOwn(permissions, value)
}

export function holds(role: string, permission: Permission): boolean {
  return isRole(role) && (roles[role] as readonly Permission[]).includes(permission)
}

export function isStaff(role: string): boolean {
  return all.some((name) => holds(role, name))
}

const day = 24 * 3600

/** Shorter for roles that can change rows of others. */
export function maxIdleSeconds(role: string): number {
  return all.some((name) => /\.manage(_all)?$/.test(name) && holds(role, name)) ? day : 14 * day
}
