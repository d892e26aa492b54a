import { createHash } from "node:crypto"
import { createServer } from "node:http"
import pg from "pg"
import { FastResponse, NodeRequest, sendNodeResponse } from "srvx/node"

// The minimum cost of the product's work: the same HTTP listener, the same SQL statements with pg, and JSON.stringify.
// Arguments: the port and the product's statements for a page of orders and for a key with its owner.

const [port, ordersPage, keyAndOwner] = process.argv.slice(2)
const findOrders = JSON.parse(ordersPage)
const findKey = JSON.parse(keyAndOwner)

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: Number(process.env.DATABASE_POOL_MAX),
})

const reads = {
  "/owner": async (request) => {
    const hash = createHash("sha256").update(request.headers.get("x-api-key")).digest()
    const { rows } = await pool.query({ ...findKey, values: [hash] })
    const { owner_id: id, email, name } = rows[0]
    return { id, email, name }
  },
  "/orders": async () => (await pool.query(findOrders)).rows,
}

async function respond(request) {
  const data = await reads[new URL(request.url).pathname](request)
  return new FastResponse(JSON.stringify({ data }), { headers: { "Content-Type": "application/json" } })
}

const server = createServer(async (request, response) => {
  await sendNodeResponse(response, await respond(new NodeRequest({ req: request, res: response })))
})
server.listen(Number(port), "127.0.0.1")
process.on("SIGTERM", () => process.exit(0))
