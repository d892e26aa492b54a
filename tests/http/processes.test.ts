import { request } from "node:http"
import { json } from "node:stream/consumers"
import { beforeAll, beforeEach, describe, expect, test } from "vitest"
import { collect, serve } from "@/scripts/build-and-serve"
import { freePort } from "@/scripts/postgres"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { startRedis } from "@/tests/support/redis"
import { startTestServer, type TestServer } from "@/tests/support/server"

// What `npm start` runs, as processes: how they begin and end.

async function freshKey(): Promise<string> {
  const user = await createUser()
  await grantCredits(user.id, 1_000)
  return (await createKey({ user, surface: "user" })).secret
}

function status(server: TestServer, secret: string): Promise<number> {
  return fetch(`${server.address}/api/v1/me`, { headers: { "x-api-key": secret } }).then(
    (answer) => answer.status,
    () => 0,
  )
}

/** The processes that listen, by what they said when they began to. */
function listening(server: TestServer): { pid: number; sweeper: string }[] {
  const said = server.output().matchAll(/^Process (\d+) listens on http:\S+, its sweeper (on|off)$/gm)
  return [...said].map(([, pid, sweeper = ""]) => ({ pid: Number(pid), sweeper }))
}

describe("one process", () => {
  test("101 asked to end while a run is under way, answers it and is gone, with nothing said of an error", async () => {
    const server = await startTestServer("lean")
    const begun = request(`${server.address}/api/v1/me/run`, {
      method: "POST",
      headers: { "x-api-key": await freshKey(), "content-type": "application/json", expect: "100-continue" },
    })
    const answer = new Promise<{ statusCode: number | undefined; body: unknown }>((done, failed) => {
      begun.on("error", failed)
      begun.on("response", async (response) => {
        done({ statusCode: response.statusCode, body: await json(response) })
      })
    })
    begun.flushHeaders()
    // The server waits for the body from here on.
    await new Promise((going) => begun.once("continue", going))
    const ended = server.stop()
    await expect.poll(() => status(server, "x")).toBe(0)
    begun.end('{"text":"A sentence that comes late."}')
    expect(await answer).toMatchObject({ statusCode: 200, body: { data: { cost: 1 } } })
    await ended
    expect(await server.exited).toBe(0)
    expect(server.output()).not.toMatch(/error/i)
  })

  test("a port that is taken is named, without a stack", async () => {
    const server = await startTestServer("lean")
    const { DATABASE_URL = "", AUTH_SECRET = "" } = process.env
    const second = serve(server.port, { DATABASE_URL, AUTH_SECRET })
    const output = collect(second)
    expect(await second.exited).toBe(1)
    expect(output()).toMatch(new RegExp(`^The server cannot start: .*EADDRINUSE.*:${server.port}$`, "m"))
    expect(output()).not.toMatch(/^\s+at /m)
    await server.stop()
  })

  test.each(["DATABASE_URL", "AUTH_SECRET"])(
    "105 without %s it does not start: the variable is named, without a stack",
    async (name) => {
      const { AUTH_SECRET = "", DATABASE_URL = "" } = process.env
      const server = serve(await freePort(), { AUTH_SECRET, DATABASE_URL, [name]: "" })
      const output = collect(server)
      expect(await server.exited).toBe(1)
      expect(output()).toContain(`${name} is required`)
      expect(output()).not.toMatch(/^\s+at /m)
    },
  )
})

describe("several processes", () => {
  let redis: Awaited<ReturnType<typeof startRedis>>
  let server: TestServer

  beforeAll(async () => {
    redis = await startRedis()
    return () => redis.stop()
  })

  beforeEach(async () => {
    server = await startTestServer("lean", { WEB_CONCURRENCY: "2", REDIS_URL: redis.url })
    await expect.poll(() => listening(server), { timeout: 30_000 }).toHaveLength(2)
    return () => server.stop()
  })

  test("100 share the port and the limits, and one of them sweeps", async () => {
    expect(
      listening(server)
        .map(({ sweeper }) => sweeper)
        .sort(),
    ).toEqual(["off", "on"])
    const secret = await freshKey()
    const statuses: number[] = []
    const worker = async () => {
      while (statuses.length < 310) statuses.push(await status(server, secret))
    }
    await Promise.all(Array.from({ length: 5 }, worker))
    expect(statuses.filter((code) => code === 200)).toHaveLength(300)
    expect(statuses.filter((code) => code === 429)).toHaveLength(statuses.length - 300)
  })

  test("one that dies is replaced by one that does what it did", async () => {
    const [victim] = listening(server).filter(({ sweeper }) => sweeper === "on")
    process.kill(victim?.pid ?? 0, "SIGKILL")
    await expect.poll(() => listening(server), { timeout: 30_000 }).toHaveLength(3)
    expect(listening(server)[2]?.sweeper).toBe("on")
    expect(await status(server, await freshKey())).toBe(200)
  })

  test("101 all end when the first is asked to, with the exit code 0", async () => {
    await server.stop()
    expect(await server.exited).toBe(0)
    for (const { pid } of listening(server)) expect(() => process.kill(pid, 0)).toThrow("ESRCH")
  })
})

test("several processes without a store to count in do not start, and say why", async () => {
  const { DATABASE_URL = "", AUTH_SECRET = "" } = process.env
  const server = serve(await freePort(), { DATABASE_URL, AUTH_SECRET, WEB_CONCURRENCY: "2", REDIS_URL: "" })
  const output = collect(server)
  expect(await server.exited).toBe(1)
  expect(output()).toContain("WEB_CONCURRENCY above 1 needs REDIS_URL")
})
