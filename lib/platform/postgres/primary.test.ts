import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { expect, test } from "vitest"
import { env } from "@/lib/env"
import { singletons } from "@/lib/singleton"
import { openCursor } from "./cursor"
import { isDatabaseUnavailable } from "./failures"
import { pool } from "./pool"

/** A message of PostgreSQL's protocol: type, length, content. */
function message(type: string, content: Buffer): Buffer {
  const head = Buffer.alloc(5, type)
  head.writeInt32BE(content.length + 4, 1)
  return Buffer.concat([head, content])
}

/** The start of a connection to a PostgreSQL that is a standby, or a primary. */
const started = (standby: "on" | "off") =>
  Buffer.concat([
    message("R", Buffer.alloc(4)),
    message("S", Buffer.from(`in_hot_standby\0${standby}\0`)),
    message("K", Buffer.alloc(8)),
    message("Z", Buffer.from("I")),
  ])

test("a standby counts as an unavailable database, and the connection to it is closed", async () => {
  let kind: "on" | "off" = "on"
  const server = createServer((socket) => socket.on("error", () => {}).once("data", () => socket.write(started(kind))))
  let open = 0
  server.on("connection", (socket) => {
    open++
    socket.on("close", () => open--)
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  const { DATABASE_URL } = env()
  const { port } = server.address() as AddressInfo
  for (const name of ["env", "pool"]) delete singletons[name]
  process.env.DATABASE_URL = `postgresql://runtime:runtime@127.0.0.1:${port}/product`
  try {
    const statement = { text: "SELECT 1", values: [] }
    for (const refused of [pool().query("SELECT 1"), pool().connect(), openCursor(statement, "reader", 1_000)]) {
      const error = await refused.then(
        () => undefined,
        (error: unknown) => error,
      )
      expect(isDatabaseUnavailable(error), String(error)).toBe(true)
    }
    expect(pool().totalCount).toBe(0)
    await expect.poll(() => open).toBe(0)

    kind = "off"
    const client = await pool().connect()
    client.release(true)
  } finally {
    await pool().end()
    for (const name of ["env", "pool"]) delete singletons[name]
    process.env.DATABASE_URL = DATABASE_URL
    server.close()
  }
})
