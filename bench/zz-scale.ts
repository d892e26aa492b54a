import pg from "pg"
import { randomBytes } from "node:crypto"
import { startTemporaryPostgres } from "@/scripts/postgres"
import { migrate } from "@/scripts/migrate"
import { fillInBulk } from "@/prisma/bulk"
const postgres = await startTemporaryPostgres(["-c","shared_buffers=1GB","-c","work_mem=32MB","-c","maintenance_work_mem=512MB","-c","wal_level=minimal","-c","max_wal_senders=0","-c","max_wal_size=4GB","-c","fsync=off"])
await migrate(postgres.url)
Object.assign(process.env, { DATABASE_URL: postgres.url, AUTH_SECRET: randomBytes(32).toString("hex"), BASE_URL: "http://localhost" })
const rows = Number(process.argv[2] ?? 1_000_000)
const c = new pg.Client(postgres.url); await c.connect()
const t0 = Date.now()
await fillInBulk(c, { rows, users: Math.min(100_000, rows / 2), requests: 1000 })
console.log("filled", Date.now() - t0)
const { createKey, createUser } = await import("@/tests/support/factories")
const { GET: orders } = await import("@/app/api/v1/admin/orders/route")
const { GET: subs } = await import("@/app/api/v1/admin/subscriptions/route")
const { GET: users } = await import("@/app/api/v1/admin/users/route")
const { GET: emails } = await import("@/app/api/v1/admin/emails/route")
const { GET: waitlist } = await import("@/app/api/v1/admin/waitlist/route")
const { GET: balances } = await import("@/app/api/v1/admin/credits/balances/route")
const { secret } = await createKey({ user: await createUser({ role: "owner" }), surface: "admin" })
const handlers: any = { orders, subscriptions: subs, users, emails, waitlist, balances }
const day = 86_400_000, now = Date.now()
const searches = [
  "orders?limit=50", "subscriptions?limit=50",
  ...["asc", "desc"].flatMap((o) => [30, 365, 700].flatMap((d) => [
    `orders?limit=50&order=${o}&refundedSince=${now - d * day}`,
    `orders?limit=50&order=${o}&refundedUntil=${now - d * day}`,
    `orders?limit=50&order=${o}&refundedSince=${now - d * day}&refundedUntil=${now - (d - 30) * day}`,
    `orders?limit=50&order=${o}&paidSince=${now - d * day}&paidUntil=${now - (d - 30) * day}`,
    `subscriptions?limit=50&order=${o}&canceledSince=${now - d * day}`,
    `subscriptions?limit=50&order=${o}&canceledSince=${now - d * day}&canceledUntil=${now - (d - 30) * day}`,
  ])),
  "orders?refundedSince=2020-01-01&currency=eur", "orders?currency=eur&status=paid&kind=credits", "orders?currency=usd&kind=subscription&planId=bulk_team",
  "orders?refundedSince=2020-01-01&paidSince=2026-01-01",
  "waitlist?source=blog", "waitlist?q=bulk-777@",
  "users?q=bulk-777@", "users?q=bulk", "users?q=example.com", "orders?q=bulk-777@", "orders?q=Bulk%207", "orders?q=bulk-1", "users?q=bulk-1", "users?q=bulk-77", "users?q=777", "emails?q=bulk-777@", "emails?q=bulk", "users?q=zzzzzz", "users?q=lkb", "orders?q=tsk_usr_bulk", "orders?q=tsk_usr_", "users?q=tsk_usr_zz",
  "users?sort=name&limit=50", "users?sort=email&order=asc&limit=50", "balances?sort=spent&limit=50", "balances?sort=balance&order=asc&limit=50",
  "orders?limit=500", "orders?limit=500&fields=amount,currency", 
]
for (const s of searches) {
  const [name, q] = s.split("?")
  const times: number[] = []; let r: any, status = 0
  for (let i = 0; i < 4; i++) {
    const t = performance.now()
    const res = await handlers[name!](new Request(`http://localhost/api/v1/admin/${name}?${q}`, { headers: { "x-api-key": secret } }))
    status = res.status; r = await res.json()
    times.push(performance.now() - t)
    await c.query("TRUNCATE key_requests").catch(() => {})
  }
  console.log(s.replace(/\d{13}/g, (m) => `-${Math.round((now - Number(m)) / day)}d`).padEnd(70), status, r.meta ? `total ${r.meta.total}, ${r.data.length} rows` : r.error.message, times.map((t) => t.toFixed(1)).join(" "))
}
if (process.argv[3]) { console.log(postgres.url); await new Promise(() => {}) }
await c.end(); await postgres.stop(); process.exit(0)
