import { createHash } from "node:crypto"
import { createServer } from "node:http"
import pg from "pg"
import { NodeRequest, sendNodeResponse } from "srvx/node"

// The minimum cost of the product's work: the same HTTP listener, the SQL statements with pg, and JSON.stringify.
// Arguments: the port and the product's SQL statement for a page of orders.

const [port, ordersPage] = process.argv.slice(2)
const findOrders = JSON.parse(ordersPage)
const findKey = {
  name: "find-key",
  text: "SELECT u.id, u.email, u.name FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.hash = $1",
}

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: Number(process.env.DATABASE_POOL_MAX),
})

const reads = {
  "/owner": async (request) => {
    const hash = createHash("sha256").update(request.headers.get("x-api-key")).digest()
    const { rows } = await pool.query({ ...findKey, values: [hash] })
    return rows[0]
  },
  "/orders": async () => (await pool.query(findOrders)).rows,
}

async function respond(request) {
  const data = await reads[new URL(request.url).pathname](request)
  return new Response(JSON.stringify({ data }), { headers: { "Content-Type": "application/json" } })
}

const server = createServer(async (request, response) => {
  await sendNodeResponse(response, await respond(new NodeRequest({ req: request, res: response })))
})
server.listen(Number(port), "127.0.0.1")
process.on("SIGTERM", () => process.exit(0))
