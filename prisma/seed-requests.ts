import type { PoolClient } from "pg"
import { Random } from "./random"
import type { Row, Story } from "./seed-stories"

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

export const foldAll = "DO $$ BEGIN WHILE fold_key_requests() > 0 LOOP END LOOP; END $$"

/** As many days as the log shows by default. */
const loggedDays = 30

type Totals = Record<"users" | "orders" | "emails" | "subscriptions", number>

/** Who sends requests: a key, from an address. */
type Client = { key: Row; address: string; agent: string }

type Request = {
  method?: string
  route: string
  status?: number
  code?: string
  message?: string
  runId?: string
  rows?: number
  credits?: number
  parameters?: string[]
}

/**
 * Logs a month of requests with the demo's keys, and the last request of every other key, through the triggers that add
 * them up. With the same data it logs the same requests.
 * @param end the start of a day; nothing is later
 */
export async function seedRequests(database: PoolClient, demo: readonly Story[], end: number): Promise<void> {
  const start = end - loggedDays * day
  await database.query(
    "SELECT add_request_log_day(day::date) FROM generate_series(1, $2::int) n, LATERAL (SELECT $1::date - n) AS d (day)",
    [new Date(end).toISOString().slice(0, 10), loggedDays],
  )
  const rows = new Traffic(demo, await totalsOf(database), start, end).rows
  await database.query(
    "INSERT INTO key_requests SELECT * FROM json_populate_recordset(NULL::key_requests, $1) ORDER BY created_at, id",
    [JSON.stringify(rows)],
  )
  await database.query(
    `UPDATE api_keys SET last_used_at = used.at
     FROM (SELECT key_id, max(created_at) AS at FROM key_requests WHERE status <> 401 GROUP BY 1) used
     WHERE id = used.key_id`,
  )
  await database.query(
    `INSERT INTO key_requests (id, key_id, user_id, created_at, method, route, status, ms, rows, credits, address, user_agent, parameters)
     SELECT ${uuidAt("least(last_used_at, $2)", "id")}, id, user_id, least(last_used_at, $2), 'GET', '/api/v1/me', 200, 4, 1, 0, '198.51.100.200', 'curl/8.14.1', '{}'
     FROM api_keys k WHERE last_used_at >= $1 AND last_used_at < coalesce(revoked_at, expires_at, 'infinity')
       AND NOT EXISTS (SELECT FROM key_requests WHERE key_id = k.id)`,
    [new Date(start), new Date(end - 1)],
  )
  await database.query(foldAll)
  // The database gives usage random ids.
  await database.query(`UPDATE key_usage SET id = ${uuidOf("concat(key_id, unit, extract(epoch FROM created_at))")}`)
}

/** A UUID that is the same for the same value, as SQL. */
function uuidOf(value: string): string {
  return `overlay(overlay(md5(${value}::text) PLACING '4' FROM 13) PLACING '8' FROM 17)::uuid`
}

/** A UUIDv7 of the time, that is the same for the same value, as SQL. */
function uuidAt(time: string, value: string): string {
  const ms = `lpad(to_hex((extract(epoch FROM ${time}) * 1000)::bigint), 12, '0')`
  return `(${ms} || '7' || left(md5(${value}::text), 3) || '8' || right(md5(${value}::text), 15))::uuid`
}

async function totalsOf(database: PoolClient): Promise<Totals> {
  const { rows } = await database.query<Totals>(
    `SELECT (SELECT count(*)::int FROM users) AS users, (SELECT count(*)::int FROM orders) AS orders,
            (SELECT count(*)::int FROM emails) AS emails, (SELECT count(*)::int FROM subscriptions) AS subscriptions`,
  )
  return rows[0] as Totals
}

class Traffic {
  readonly rows: Row[] = []
  readonly #random = new Random(20_27)
  readonly #keys: readonly Row[]

  constructor(
    demo: readonly Story[],
    readonly totals: Totals,
    readonly start: number,
    readonly end: number,
  ) {
    this.#keys = demo.flatMap((story) => story.api_keys)
    const runs = demo.flatMap((story) => story.runs).filter((run) => timeOf(run.created_at) >= start)
    this.#dashboard()
    this.#officeServer()
    this.#shopBackend(runs.filter((run) => run.spending_id === null))
    this.#trialProject(runs.filter((run) => run.spending_id !== null))
    this.#nightlyReport()
    this.#revenueReport()
    this.#nightlyExport()
  }

  /** Reads the account whenever its page is open: in the office hours of weekdays. */
  #dashboard() {
    const client = this.#client("Dashboard", "198.51.100.7", "dashboard/2.1 (node)")
    for (const at of this.#days()) {
      const isWeekday = ![0, 6].includes(new Date(at).getUTCDay())
      const views = isWeekday ? this.#random.between(14, 22) : this.#random.between(0, 3)
      for (let view = 0; view < views; view++) {
        this.#view(client, at + 7 * hour + this.#random.between(0, 13 * 60) * minute)
      }
    }
    this.#view(client, this.end - 3 * hour - second)
    const tried = this.end - 6 * day + 10 * hour
    for (let time = 0; time < 3; time++) {
      this.#log(tried + time * 40 * second, client, { ...run, ...withoutScope("run", "read") })
    }
  }

  #view(client: Client, at: number) {
    this.#log(at, client, { route: "/api/v1/me", rows: 1 })
    this.#log(at + 60, client, { route: "/api/v1/me/credits", rows: 30, parameters: ["limit", "since"] })
    this.#log(at + 130, client, { route: "/api/v1/me/orders", rows: 10, parameters: ["limit"] })
  }

  /** Reads the balance every hour, from two networks; is once too fast, and once elsewhere. */
  #officeServer() {
    const client = this.#client("Office server", "203.0.113.20", "office-sync/0.9 Python-urllib/3.12")
    const overIpv6 = { ...client, address: "2001:db8:4:17::5" }
    for (let at = this.start; at < this.end; at += hour) {
      const sender = this.#random.chance(0.3) ? overIpv6 : client
      this.#log(at, sender, { route: "/api/v1/me/credits", rows: 1, parameters: ["limit"] })
    }
    const burst = this.end - 9 * day + 15 * hour + 7 * second
    for (let sent = 0; sent < 84; sent++) {
      const outcome = sent < 60 ? { rows: 30 } : refused(429, "rate_limited", overLimit)
      this.#log(burst + sent * 300, client, { route: "/api/v1/me/orders", parameters: ["limit", "offset"], ...outcome })
    }
    const travelling = { ...client, address: "198.51.100.143" }
    for (let time = 0; time < 4; time++) {
      const at = this.end - 4 * day + 18 * hour + time * 5 * minute
      this.#log(at, travelling, { route: "/api/v1/me/credits", ...refused(403, "address_not_allowed", wrongAddress) })
    }
  }

  /** Was rotated a day before the end; both keys are still in use. */
  #shopBackend(runs: readonly Row[]) {
    const [old, successor] = this.#keys.filter(({ name }) => name === "Shop backend")
    const clientOf = (key: Row | undefined) => ({ key: key as Row, address: "198.51.100.30", agent: "shop/5.2 (node)" })
    const at = (time: number) => clientOf(time < this.end - day ? old : successor)
    for (let time = this.start + 20 * minute; time < this.end; time += 2 * hour) {
      this.#log(time, at(time), { route: "/api/v1/me", rows: 1 })
    }
    this.#log(this.end - 2 * hour, clientOf(old), { route: "/api/v1/me", rows: 1 })
    this.#log(this.end - hour, clientOf(successor), { route: "/api/v1/me", rows: 1 })
    for (const row of runs) this.#run(at(timeOf(row.created_at)), row)
  }

  #trialProject(runs: readonly Row[]) {
    const client = this.#client("Trial project", "2001:db8:77:1::9", "curl/8.14.1")
    for (const row of runs) this.#run(client, row)
    this.#log(this.end - 5 * hour, client, { route: "/api/v1/me/key", rows: 1 })
  }

  #nightlyReport() {
    const client = this.#client("Nightly report", "198.51.100.31", "report/1.0 Python-urllib/3.12")
    for (const at of this.#days()) {
      const time = at + 90 * minute + this.#random.between(0, 90) * second
      this.#log(time, client, { route: "/api/v1/me/orders", rows: 20, parameters: ["limit"] })
      for (let page = 0; page < 3; page++) {
        this.#log(time + (page + 1) * 400, client, { route: "/api/v1/me/credits", rows: 100, parameters: pageOf(page) })
      }
    }
  }

  /** An agent that reads statistics and orders during the day, and once tries to read accounts. */
  #revenueReport() {
    const client = this.#client("Revenue report", "198.51.100.80", "analysis-agent/3.4")
    const first = this.end - 20 * day
    for (const at of this.#days().filter((time) => time >= first)) {
      for (let time = at + 7 * hour; time < at + 18 * hour; time += hour) {
        const moment = time + this.#random.between(0, 600) * second
        this.#log(moment, client, { route: "/api/v1/admin/stats", rows: 30, parameters: ["interval", "since"] })
        const orders = { route: "/api/v1/admin/orders", parameters: ["since", "limit"] }
        this.#log(moment + 2 * second, client, { ...orders, rows: this.#random.between(0, 9) })
      }
    }
    this.#log(first + 9 * hour, client, { route: "/api/v1/admin/users", ...withoutScope("users.read", "billing.read") })
    this.#log(this.end - 4 * hour, client, { route: "/api/v1/admin/stats", rows: 30, parameters: ["interval"] })
  }

  /** Normal for weeks; then somebody else copies accounts, orders and emails, until the key is revoked. */
  #nightlyExport() {
    const client = this.#client("Nightly export", "198.51.100.24", "nightly-export/1.4")
    const revokedAt = timeOf(client.key.revoked_at)
    for (const at of this.#days().filter((time) => time >= timeOf(client.key.created_at))) {
      const time = at + 130 * minute + this.#random.between(0, 60) * second
      for (const [index, name] of (["users", "orders", "subscriptions"] as const).entries()) {
        const isRevoked = time >= revokedAt
        const outcome = isRevoked ? refused(401, "unauthorized", ended) : { rows: this.#random.between(0, 12) }
        const request = { route: `/api/v1/admin/${name}`, parameters: ["since", "limit"] }
        this.#log(time + index * 700, client, { ...request, ...outcome })
        // The job stops at its first error.
        if (isRevoked) break
      }
    }
    this.#leak({ ...client, address: "192.0.2.166", agent: "python-requests/2.32.3" }, revokedAt)
  }

  #leak(outsider: Client, revokedAt: number) {
    const first = revokedAt - 110 * minute
    this.#log(first, { ...outsider, agent: "curl/8.5.0" }, { route: "/api/v1/admin/key", rows: 1 })
    const pages = (["users", "orders", "emails"] as const).flatMap((name) => this.#pagesOf(name))
    const denied = ["credits", "stats"].map((name) => ({
      route: `/api/v1/admin/${name}`,
      ...withoutScope("credits.read", "users.read, billing.read, email.read"),
    }))
    const step = (100 * minute) / (pages.length + denied.length)
    for (const [index, request] of [...denied, ...pages].entries()) {
      const at = first + 2 * minute + index * step
      this.#log(Math.floor(at + this.#random.next() * step), outsider, request)
    }
    for (const after of [0.5, 1, 2, 4, 8, 16, 32, 64, 600, 1_440]) {
      const parameters = ["limit", "cursor"]
      const refusal = { route: "/api/v1/admin/emails", parameters, ...refused(401, "unauthorized", ended) }
      this.#log(revokedAt + after * minute, outsider, refusal)
    }
  }

  /** The requests that read a whole list, or the start of a long one. */
  #pagesOf(name: keyof Totals): Request[] {
    const size = 20
    return Array.from({ length: Math.min(60, Math.ceil(this.totals[name] / size)) }, (_, page) => ({
      route: `/api/v1/admin/${name}`,
      rows: Math.min(size, this.totals[name] - page * size),
      parameters: pageOf(page),
    }))
  }

  #run(client: Client, { id, state, cost, created_at }: Row) {
    const outcome = state === "failed" ? refused(500, "internal", failed) : { credits: Number(cost) }
    this.#log(timeOf(created_at), client, { ...run, runId: String(id), ...outcome })
  }

  #client(name: string, address: string, agent: string): Client {
    const key = this.#keys.find((candidate) => candidate.name === name)
    if (!key) throw new Error(`The demo has no key ${name}.`)
    return { key, address, agent }
  }

  /** The start of each logged day. */
  #days(): number[] {
    return Array.from({ length: loggedDays }, (_, index) => this.start + index * day)
  }

  #log(at: number, { key, address, agent }: Client, request: Request) {
    const { method = "GET", route, status = 200, code = null, rows = 0, credits = 0, parameters = [] } = request
    const { runId = null, message = null } = request
    this.rows.push({
      id: this.#random.uuid(at),
      key_id: String(key.id),
      user_id: String(key.user_id),
      created_at: new Date(at).toISOString(),
      method,
      route,
      status,
      code,
      ms: this.#random.chance(0.02) ? this.#random.between(50, 400) : this.#random.between(3, 12) + Math.ceil(rows / 8),
      rows,
      credits,
      address,
      user_agent: agent,
      parameters,
      run_id: runId,
      message,
    })
  }
}

const run = { method: "POST", route: "/api/v1/me/run" }

// As lib/api/said.ts keeps messages.
const overLimit = "This key has reached its limit of 60 requests per minute. Try again in 12 seconds."
const wrongAddress = "This key does not work from (not kept): its owner has limited it to other addresses."
const failed = "An unexpected error occurred. If it persists, report it with the request id (not kept)."
const ended =
  "Send a valid API key, as `Authorization: Bearer <API_KEY>` or in the header `x-api-key`. Keys that are unknown, revoked or expired do not work."

function withoutScope(scope: string, scopes: string) {
  return refused(403, "missing_scope", `This key lacks the scope ${scope}. It has: ${scopes}.`)
}

function refused(status: number, code: string, message: string) {
  return { status, code, message, rows: 0 }
}

function pageOf(page: number): string[] {
  return page === 0 ? ["limit"] : ["limit", "cursor"]
}

function timeOf(value: Row[string] | undefined): number {
  return new Date(String(value)).getTime()
}
