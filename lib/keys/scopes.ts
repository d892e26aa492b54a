import { holds, isPermission, type Permission, permissions } from "@/lib/permissions"

/** The scopes of user keys, and what they allow. Those of admin keys are the permissions that endpoints require. */
export const userScopes = {
  read: "Read the account",
  run: "Make metered calls, which cost credits",
} as const

export type Scope = Permission | keyof typeof userScopes

export const scopeMeanings: Readonly<Record<Scope, string>> = { ...permissions, ...userScopes }

/** Whether an account may give a scope to its keys: it holds the permission, or the scope is one of user keys. */
export function mayGive(role: string, scope: Scope): boolean {
  return isPermission(scope) ? holds(role, scope) : true
}
