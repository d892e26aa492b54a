import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { connect } from "node:net"
import { freePort } from "./postgres"

/** A real Redis on a free port, without persistence; `findRedis` has to have been asked before. */
export async function startRedis(port?: number): Promise<{ url: string; port: number; stop: () => Promise<void> }> {
  const chosen = port ?? (await freePort())
  const flags = ["--port", String(chosen), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
  const server = spawn(findRedis() ?? "redis-server", flags, { stdio: "ignore" })
  await once(server, "spawn")
  await untilListening(chosen)
  const stop = async () => {
    const ended = once(server, "exit")
    server.kill("SIGKILL")
    await ended
  }
  return { url: `redis://127.0.0.1:${chosen}`, port: chosen, stop }
}

/** The path of a Redis server: `REDIS_SERVER_PATH`, or the one on the PATH. */
export function findRedis(): string | undefined {
  if (process.env.REDIS_SERVER_PATH) return process.env.REDIS_SERVER_PATH
  try {
    return execFileSync("sh", ["-c", "command -v redis-server"], { encoding: "utf8" }).trim()
  } catch {
    return undefined
  }
}

async function untilListening(port: number): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!(await accepts(port))) {
    if (Date.now() > deadline) throw new Error(`Redis does not listen on port ${port}.`)
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => done(true))
    socket.once("error", () => setTimeout(() => done(false), 20))
    socket.once("close", () => socket.destroy())
    socket.once("connect", () => socket.end())
  })
}
