// The bodies of all answers (spec section 2).

export function listEnvelope(
  data: readonly unknown[],
  meta: { total: number; limit: number; offset: number; nextCursor: string | null } & Record<string, unknown>,
): string {
  return JSON.stringify({ data, meta })
}

export function objectEnvelope(data: unknown): string {
  return JSON.stringify({ data })
}

export function errorEnvelope(code: string, message: string): string {
  return JSON.stringify({ error: { code, message } })
}
