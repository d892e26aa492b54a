import { mayGive, type Scope, scopeMeanings } from "@/lib/keys/scopes"
import type { Surface } from "@/lib/surfaces"
import { endpoints } from "./endpoints"

export async function scopesOf(surface: Surface, role: string): Promise<Scope[]> {
  const required = new Set(
    (await endpoints()).filter((endpoint) => endpoint.surface === surface).map(({ scope }) => scope),
  )
  const all = Object.keys(scopeMeanings) as Scope[]
  return all.filter((scope) => required.has(scope) && mayGive(role, scope))
}

export async function allScopesOf(role: string): Promise<Record<Surface, Scope[]>> {
  const [admin, user] = await Promise.all([scopesOf("admin", role), scopesOf("user", role)])
  return { admin, user }
}
