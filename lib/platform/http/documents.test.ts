import { once } from "node:events"
import { createServer, get, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { env } from "@/lib/env"
import { forwardedHeader, socketAddressHeader } from "@/lib/platform/rate-limit/client-address"
import { watchRequests } from "@/lib/process/incoming-requests"
import { singletons } from "@/lib/singleton"
import { surfaces } from "@/lib/surfaces"
import { cookieName } from "./cookies"
import { documentPaths, documentWith, routerHeader } from "./documents"

type Seen = { url: string | undefined; headers: IncomingHttpHeaders }

/** The requests that were rendered. */
let renders: Seen[]
let nonces = 0
let status: number
let lastPart: string

/** In place of proxy.ts and Next: a render writes the URL and headers of its request, and its nonce twice. */
const server = createServer((request, response) => {
  const nonce = `nonce${nonces++}x`
  response.setHeader("content-security-policy", `script-src 'nonce-${nonce}'`)
  const found = documentWith(nonce, request.url ?? "", request.headers.cookie)
  if (found !== undefined) return response.end(found)
  const { url, headers } = request
  renders.push({ url, headers })
  response.statusCode = status
  response.write(`<html><script nonce="${nonce}">`)
  response.write(Buffer.from(`é${JSON.stringify({ url, headers })}</script>`))
  return response.end(`<script nonce="${nonce}"></script>${lastPart}`)
})

beforeAll(async () => {
  watchRequests()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
})

beforeEach(() => {
  Object.assign(env(), { NODE_ENV: "production" })
  delete singletons.documents
  renders = []
  status = 200
  lastPart = "</html>"
})

afterAll(() => {
  Object.assign(env(), { NODE_ENV: "test" })
  server.close()
})

async function ask(path: string, headers: Record<string, string> = {}): Promise<{ body: string; nonce: string }> {
  const { port } = server.address() as AddressInfo
  const [response] = await once(get({ port, host: "127.0.0.1", path, headers, agent: false }), "response")
  const [, nonce = ""] = /'nonce-(.*)'/.exec(response.headers["content-security-policy"]) ?? []
  return { body: await text(response), nonce }
}

const themeCookie = (theme: string) => `${cookieName("theme")}=${theme}`

test.each(documentPaths)(
  "%s is rendered once for each theme, and each response has a nonce of its own",
  async (path) => {
    const themes = [{}, { cookie: themeCookie("dark") }, { cookie: `a=b; ${themeCookie("light")}` }]
    for (const headers of themes) {
      const first = await ask(path, headers)
      const second = await ask(path, headers)
      expect(second.body).toBe(first.body.replaceAll(first.nonce, second.nonce))
      expect(second.body.split(second.nonce)).toHaveLength(3)
      expect(second.nonce).not.toBe(first.nonce)
    }
    expect(renders.map(({ headers }) => headers.cookie)).toEqual([undefined, themeCookie("dark"), themeCookie("light")])
  },
)

test("the reference of each surface is a document", () => {
  expect(documentPaths.toSorted()).toEqual(
    [
      "/docs",
      "/docs/quickstart",
      ...surfaces.map((surface) => `/docs/${surface}`),
      "/docs/leaks",
      "/for-operators",
    ].toSorted(),
  )
})

test("the document that others get contains nothing from a client except its theme", async () => {
  const hostile = {
    host: "hostile.example",
    "x-forwarded-host": "hostile.example",
    "user-agent": "hostile",
    accept: "hostile",
    "accept-language": "hostile",
    "next-router-state-tree": "hostile",
    "x-nonce": "hostile",
    cookie: `hostile=1; ${themeCookie("hostile")}; ${themeCookie("dark")}`,
    rsc: "1",
  }
  await ask("/docs/%61dmin/?q=hostile", hostile)
  const { body } = await ask("/docs/admin", { cookie: themeCookie("dark") })
  expect(renders).toHaveLength(1)
  expect(renders[0]?.url).toBe("/docs/admin")
  expect(body).not.toContain("hostile")
  expect(renders[0]?.headers).toEqual({
    host: new URL(env().BASE_URL).host,
    "user-agent": "browser",
    connection: "close",
    cookie: themeCookie("dark"),
    [routerHeader]: "1",
    [socketAddressHeader]: "127.0.0.1",
    [forwardedHeader]: "1",
    "x-request-id": expect.any(String),
  })
})

test.each([
  ["a render that fails", () => (status = 500)],
  ["a render that ends early", () => (lastPart = "")],
])("%s is not kept", async (_, fail) => {
  fail()
  await ask("/docs")
  status = 200
  lastPart = "</html>"
  await ask("/docs")
  expect(renders).toHaveLength(2)
})

test.each(["/", "/docs/nothing", "/docs/search", "/sign-in", "/docs/admin/x"])(
  "%s is rendered for each request",
  async (path) => {
    for (const _ of [1, 2]) await ask(path, { cookie: "session=1" })
    expect(renders.map(({ headers }) => headers.cookie)).toEqual(["session=1", "session=1"])
  },
)
