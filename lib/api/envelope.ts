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

/** Of a settled run, in two parts: between them belongs the balance, which only the database knows when it settles. */
export function runEnvelope({ runId, cost, result, createdAt }: SettledRun): [string, string] {
  const head = `{"data":{"id":${JSON.stringify(runId)},"cost":${cost},"balance":`
  return [head, `,"result":${JSON.stringify(result)},"createdAt":${JSON.stringify(createdAt)}}}`]
}

type SettledRun = { runId: string; cost: number; result: unknown; createdAt: Date }

export function errorEnvelope(code: string, message: string): string {
  return JSON.stringify({ error: { code, message } })
}
