// The bodies of all answers (spec section 2).

/** A page of rows, before it becomes text. */
export type List<Row, Meta = unknown> = {
  data: Row[]
  meta: { total: number; limit: number; offset: number; nextCursor: string | null } & Meta
}

export function listEnvelope({ data, meta }: List<unknown>): string {
  return JSON.stringify({ data, meta })
}

export function objectEnvelope(data: unknown): string {
  return JSON.stringify({ data })
}

export function errorEnvelope(code: string, message: string): string {
  return JSON.stringify({ error: { code, message } })
}
