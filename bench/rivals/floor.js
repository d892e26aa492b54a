import { createHash } from "node:crypto"
import { createServer } from "node:http"
import pg from "pg"

// What the same work costs with nothing around it: an adapter for Node, the statements, and JSON.stringify.

const adapters = {
  async hono(answer) {
    const { getRequestListener } = await import("@hono/node-server")
    return getRequestListener(answer, { overrideGlobalObjects: false })
  },
  async srvx(answer) {
    const { toNodeHandler } = await import("srvx/node")
    return toNodeHandler(answer)
  },
}

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })

const findKey = {
  name: "find-key",
  text: `SELECT u.id, u.email, u.name FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.hash = $1`,
}

const findOrders = {
  name: "find-orders",
  text: `SELECT id, user_id AS "userId", subscription_id AS "subscriptionId", kind, description, status, amount,
                refunded_amount AS "refundedAmount", currency, credits, created_at AS "createdAt", paid_at AS "paidAt",
                refunded_at AS "refundedAt"
         FROM orders ORDER BY created_at DESC, id DESC LIMIT $1`,
}

const countOrders = { name: "count-orders", text: "SELECT count(*)::int AS total FROM orders" }

async function answer(request) {
  const data = request.url.includes("/orders") ? await readOrders() : await readOwner(request.headers.get("x-api-key"))
  return new Response(JSON.stringify(data), { headers: { "Content-Type": "application/json" } })
}

async function readOwner(secret) {
  const hash = createHash("sha256").update(secret).digest()
  const { rows } = await pool.query({ ...findKey, values: [hash] })
  return { data: rows[0] }
}

async function readOrders() {
  const [page, count] = await Promise.all([pool.query({ ...findOrders, values: [500] }), pool.query(countOrders)])
  return { data: page.rows, meta: count.rows[0] }
}

const [adapter, port] = process.argv.slice(2)
createServer(await adapters[adapter](answer)).listen(Number(port), "127.0.0.1")
