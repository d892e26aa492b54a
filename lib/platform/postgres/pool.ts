import { Pool, type PoolClient, type PoolConfig } from "pg"
import { env } from "@/lib/env"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { singleton } from "@/lib/singleton"
import { enterConnectionQueue } from "./load-shedding"
import { PrimaryClient } from "./primary"
import { withSettings } from "./settings"
import { waits } from "./waits"

/** The timeouts are below the three-second limit for a response. */
export function pool(): Pool {
  return singleton("pool", () => {
    const created = createPool(env().DATABASE_URL, MonitoredPool)
    metrics().connections.read = () => {
      const { totalCount, idleCount, waitingCount } = created
      return { busy: totalCount - idleCount, idle: idleCount, awaited: waitingCount }
    }
    return created
  })
}

export function createPool(url: string, Kind = Pool): Pool {
  const options = {
    connectionString: withSettings(url),
    max: env().DATABASE_POOL_MAX,
    connectionTimeoutMillis: waits().connection,
    statement_timeout: waits().statement,
    query_timeout: waits().response,
    // A client that is given several statements sends them at once: lib/credits/group.ts.
    pipeline: true,
    // Otherwise a process that has nothing more to do exits ten seconds later.
    allowExitOnIdle: true,
  }
  const created = survivingLosses(new Kind(options))
  created.on("release", (error) => {
    if (error?.message === "Query read timeout") closeIdle(created)
  })
  if (env().DATABASE_PREPARE === "off") created.on("connect", disablePreparedStatements)
  return created
}

/** Without these listeners the loss of a connection would end the process. */
export function survivingLosses<Created extends Pool>(created: Created): Created {
  created.on("error", () => {})
  created.on("connect", (client) => client.on("error", () => {}))
  return created
}

type Connected = (error: Error | undefined, client: PoolClient | undefined, release: (error?: unknown) => void) => void

class MonitoredPool extends Pool {
  constructor(config: PoolConfig) {
    super({ ...config, Client: PrimaryClient })
  }

  override connect(): Promise<PoolClient>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<PoolClient> | undefined {
    // As in pg-pool, which queues a request for an idle connection too, until the next tick.
    const isQueued = this.idleCount > 0 || this.totalCount >= this.options.max
    const endWait = isQueued ? enterConnectionQueue(this) : () => {}
    if (!callback) return super.connect().finally(endWait)
    super.connect((error, client, release) => {
      endWait()
      callback(error, client, release)
    })
    return undefined
  }
}

/** After a connection fell silent, the idle ones may be silent too, and each would cost a request its deadline. */
function closeIdle(of: Pool): void {
  for (let idle = of.idleCount; idle > 0; idle--) of.connect((_error, client) => client?.release(true))
}

/** An external pooler may move a client to another connection, where its prepared statements do not exist. */
function disablePreparedStatements(client: PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown
  client.query = ((config: unknown, ...rest: unknown[]) =>
    query(typeof config === "object" ? { ...config, name: undefined } : config, ...rest)) as PoolClient["query"]
}
