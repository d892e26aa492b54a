import { Pool } from "pg"
import { env } from "./env"
import { singleton } from "./singleton"

/**
 * The one pool of the process; Prisma and hand-written statements share it.
 * Every wait ends before the three seconds after which an answer would be late: a full pool, a statement, a dead server.
 */
export function pool(): Pool {
  return singleton("pool", () => {
    const created = new Pool({
      connectionString: env().DATABASE_URL,
      max: env().DATABASE_POOL_MAX,
      connectionTimeoutMillis: 2_000,
      statement_timeout: 2_500,
      query_timeout: 2_800,
    })
    if (env().DATABASE_PREPARE === "off") forgetNames(created)
    // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
    created.on("error", () => {})
    return created
  })
}

/** Statements with a name are prepared once a connection, which a pooler in front may give to somebody else in between. */
function forgetNames(pool: Pool): void {
  const query = pool.query.bind(pool) as (...args: unknown[]) => unknown
  pool.query = ((config: unknown, ...rest: unknown[]) =>
    query(typeof config === "object" ? { ...config, name: undefined } : config, ...rest)) as Pool["query"]
}
