import { env } from "@/lib/env"

const names = { github: "GitHub", google: "Google" } as const

export type ProviderId = keyof typeof names

export const providerIds = Object.keys(names) as ProviderId[]

export function providerName(id: string): string {
  return Object.hasOwn(names, id) ? names[id as ProviderId] : id
}

export function signInWords(via: string, factor?: string | null): string {
  const method = providerName(via)
  return factor ? `${method} and ${factor === "app" ? "authenticator app" : factor}` : method
}

export function socialProviders(): { id: ProviderId; name: string }[] {
  const { GITHUB_CLIENT_ID, GOOGLE_CLIENT_ID } = env()
  const available: Record<ProviderId, unknown> = { github: GITHUB_CLIENT_ID, google: GOOGLE_CLIENT_ID }
  return providerIds.filter((id) => available[id]).map((id) => ({ id, name: names[id] }))
}
