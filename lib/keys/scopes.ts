import { holds, isPermission, type Permission, permissions, roleNames } from "@/lib/permissions"
import type { Surface } from "@/lib/surfaces"

/** The scopes of admin keys are the permissions that endpoints require. */
export const userScopes = {
  read: "Read the account",
  run: "Make metered calls, which cost credits",
} as const

export type Scope = Permission | keyof typeof userScopes

export const scopeMeanings: Readonly<Record<Scope, string>> = { ...permissions, ...userScopes }

export function mayGive(role: string, scope: Scope): boolean {
  return isPermission(scope) ? holds(role, scope) : true
}

/** Null where there is little to choose: then every scope is preselected, and lib/keys/health.ts reports no problem. */
export function presetsOf(surface: Surface, offered: readonly Scope[]): Readonly<Record<string, Scope[]>> | null {
  if (surface === "user" || offered.length < 2) return null
  const ofRoles = roleNames.map((role) => [role, offered.filter((scope) => mayGive(role, scope))] as const)
  const fewer = ofRoles.filter(([, scopes]) => scopes.length > 0 && scopes.length < offered.length)
  const named = fewer.map(([role, scopes]) => [role.charAt(0).toUpperCase() + role.slice(1), scopes] as const)
  return { ...Object.fromEntries(named), "Everything (not advised)": [...offered] }
}
