import { Pool, type PoolClient } from "pg"
import { env } from "@/lib/env"
import { singleton } from "@/lib/singleton"
import { metrics } from "@/lib/telemetry/metrics"
import { enterConnectionQueue } from "./load-shedding"

/**
 * The one pool of the process; Prisma and hand-written statements share it.
 * Every wait ends before the three seconds after which an answer would be late: a full pool, a statement, a dead server.
 */
export function pool(): Pool {
  return singleton("pool", () => {
    const created = new WatchedPool({
      connectionString: env().DATABASE_URL,
      max: env().DATABASE_POOL_MAX,
      connectionTimeoutMillis: 2_000,
      statement_timeout: 2_500,
      query_timeout: 2_800,
    })
    if (env().DATABASE_PREPARE === "off") forgetNames(created)
    // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
    created.on("error", () => {})
    metrics().connections.read = () => {
      const { totalCount, idleCount, waitingCount } = created
      return { busy: totalCount - idleCount, idle: idleCount, awaited: waitingCount }
    }
    return created
  })
}

type Connected = (error: Error | undefined, client: PoolClient | undefined, release: (error?: unknown) => void) => void

/** Knows since when somebody waits for a connection while all of them are taken. */
class WatchedPool extends Pool {
  override connect(): Promise<PoolClient>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<PoolClient> | undefined {
    const isFull = this.idleCount === 0 && this.totalCount >= this.options.max
    const leave = isFull ? enterConnectionQueue() : () => {}
    if (!callback) return super.connect().finally(leave)
    super.connect((error, client, release) => {
      leave()
      callback(error, client, release)
    })
    return undefined
  }
}

/** Statements with a name are prepared once a connection, which a pooler in front may give to somebody else in between. */
function forgetNames(pool: Pool): void {
  const query = pool.query.bind(pool) as (...args: unknown[]) => unknown
  pool.query = ((config: unknown, ...rest: unknown[]) =>
    query(typeof config === "object" ? { ...config, name: undefined } : config, ...rest)) as Pool["query"]
}
