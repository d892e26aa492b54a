// The JSON bodies of all API responses.

/** A page of rows, before serialization. */
export type List<Row, Meta = unknown> = {
  data: Row[]
  /** `totalIsMinimum`: of a list that does not count all matching rows where they are too many. */
  meta: { total: number; limit: number; offset: number; nextCursor: string | null; totalIsMinimum?: boolean } & Meta
}

export function listEnvelope({ data, meta }: { data: readonly unknown[]; meta: object }): string {
  return JSON.stringify({ data, meta })
}

export function objectEnvelope(data: unknown): string {
  return JSON.stringify({ data })
}

/** The body of a settled run, split around the balance, which the database inserts when it settles the run. */
export function runEnvelope({ runId, cost, result, createdAt }: SettledRun): [string, string] {
  const beforeBalance = `{"data":{"id":${JSON.stringify(runId)},"cost":${cost},"balance":`
  return [beforeBalance, `,"result":${JSON.stringify(result)},"createdAt":${JSON.stringify(createdAt)}}}`]
}

/** The run of a body that was settled before. */
export function runIdOf(body: string): string {
  return JSON.parse(body).data.id
}

type SettledRun = { runId: string; cost: number; result: unknown; createdAt: Date }

export function errorEnvelope(code: string, message: string): string {
  return JSON.stringify({ error: { code, message } })
}
