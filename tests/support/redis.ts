import { connect } from "node:net"
import { startChild } from "@/scripts/child"
import { freePort } from "@/scripts/postgres"
import { onPath } from "./on-path"

export type RunningRedis = { url: string; port: number; pid: number | undefined; stop: () => Promise<void> }

/** Starts a Redis without persistence, on a free port unless one is given. */
export async function startRedis(port?: number): Promise<RunningRedis> {
  const chosen = port ?? (await freePort())
  const flags = ["--port", String(chosen), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
  const server = startChild(findRedis() ?? "redis-server", flags, { signal: "TERM", cwd: "/", env: process.env })
  let exited = false
  server.exited.then(() => {
    exited = true
  })
  server.process.stdout?.resume()
  while (!(await accepts(chosen))) {
    if (exited) throw new Error("redis-server did not start: install it, or set REDIS_SERVER_PATH to its path.")
  }
  return { url: `redis://127.0.0.1:${chosen}`, port: chosen, pid: server.process.pid, stop: server.stop }
}

/** The path of a Redis server: `REDIS_SERVER_PATH`, or the one on the PATH. */
export function findRedis(): string | undefined {
  return process.env.REDIS_SERVER_PATH || onPath("redis-server")
}

function accepts(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => {
      socket.destroy()
      done(true)
    })
    socket.once("error", () => setTimeout(() => done(false), 20))
  })
}
