import { readFile } from "node:fs/promises"
import { request } from "node:http"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { encode } from "next-auth/jwt"
import type { Prisma } from "@/generated/prisma/client"
import { env } from "@/lib/env"
import { cookieName, sessionMaxAgeSeconds } from "@/lib/platform/http/cookies"
import type { SessionToken } from "@/lib/sign-in/session-rows"
import { root } from "@/scripts/root"
import { createSession } from "./factories"
import type { TestServer } from "./server"

// Sends requests to a server, both as a browser sends them and handcrafted.

export type Sent = {
  method?: string
  path: string
  headers?: SentHeaders
  body?: string | FormData
}

/** A header whose value is undefined is not sent. */
export type SentHeaders = Readonly<Record<string, string | undefined>>

export type RawResponse = { status: number; headers: Headers; cookies: string[]; text: string }

/** Sends headers verbatim, including `Host`, and follows no redirect. */
export async function ask(
  { address }: Pick<TestServer, "address">,
  { method = "GET", path, headers, body }: Sent,
): Promise<RawResponse> {
  const { hostname, port } = new URL(address)
  // A Response encodes a form as browsers do.
  const form = body instanceof FormData ? new Response(body) : undefined
  const type = form?.headers.get("content-type")
  const content = form ? Buffer.from(await form.arrayBuffer()) : body
  const sent = request({ hostname, port, method, path })
  for (const [name, value] of Object.entries({ ...(type && { "content-type": type }), ...headers })) {
    if (value === undefined) sent.removeHeader(name)
    else sent.setHeader(name, value)
  }
  const response = new Promise<RawResponse>((done, failed) => {
    sent.on("error", failed)
    sent.on("response", async (incoming) => {
      const received = new Headers()
      for (const [name, values] of Object.entries(incoming.headersDistinct)) {
        for (const value of values ?? []) received.append(name, value)
      }
      const cookies = incoming.headersDistinct["set-cookie"] ?? []
      done({ status: incoming.statusCode ?? 0, headers: received, cookies, text: await text(incoming) })
    })
  })
  sent.end(content)
  return response
}

export function formOf(fields: Readonly<Record<string, string>>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  return form
}

let addresses = 0

/** A new address for `X-Forwarded-For`, so that the rate limits per address do not apply across calls. */
export function anotherAddress(): string {
  addresses++
  return `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`
}

/** The `Cookie` header of a browser that is signed in to the account, with a session in the database. */
export async function sessionOf(user: { id: string }, overrides: Partial<Prisma.SessionUncheckedCreateInput> = {}) {
  const { id, provedAt } = await createSession(user, overrides)
  return sessionCookie({ sub: user.id, sid: id, proved: provedAt?.getTime() })
}

/** The `Cookie` header with a session's token, whether the session exists or not. */
export async function sessionCookie(
  token: SessionToken,
  { secret = env().AUTH_SECRET, maxAge = sessionMaxAgeSeconds } = {},
): Promise<string> {
  return `${cookieName("session")}=${await encode({ token, secret, maxAge })}`
}

/** A server action of the build. `name` is its file below `app` and the name of its export. */
export type BuiltAction = { id: string; name: string; pages: string[] }

type ActionManifest = {
  node: Record<string, { filename: string; exportedName: string; workers: Record<string, unknown> }>
}

export async function builtActions(): Promise<BuiltAction[]> {
  const { node } = await manifest<ActionManifest>("server-reference-manifest")
  return Object.entries(node).map(([id, { filename, exportedName, workers }]) => ({
    id,
    name: `${filename.replace(/^(.*\/)?app\//, "").replace(/\/?actions\.ts$/, "")} ${exportedName}`,
    pages: Object.keys(workers).map(pathOf),
  }))
}

/** The paths of all pages and routes of the build, with the names of dynamic segments as in `app`. */
export async function builtPaths(): Promise<{ pages: string[]; routes: string[] }> {
  const all = Object.keys(await manifest<Record<string, string>>("app-paths-manifest"))
  // A slot of a layout has no address of its own.
  const entries = all.filter((entry) => !entry.includes("/@"))
  const ending = (kind: string) => entries.filter((entry) => entry.endsWith(`/${kind}`)).map(pathOf)
  return { pages: ending("page"), routes: ending("route") }
}

async function manifest<Content>(name: string): Promise<Content> {
  return JSON.parse(await readFile(join(root, `.next/server/${name}.json`), "utf8"))
}

/** `app/sign-in/page` is served at `/sign-in`. */
function pathOf(entry: string): string {
  return entry.replace(/^app(?=\/)/, "").replace(/\/(page|route)$/, "") || "/"
}

/** Calls a server action as client-side JavaScript does. The form is its last argument, after the last result. */
export function callAction(
  server: Pick<TestServer, "address">,
  { id }: Pick<BuiltAction, "id">,
  {
    path,
    fields = {},
    headers,
  }: {
    path: string
    fields?: Readonly<Record<string, string>>
    headers?: SentHeaders
  },
): Promise<RawResponse> {
  const body = new FormData()
  for (const [name, value] of Object.entries(fields)) body.append(`_1_${name}`, value)
  body.append("0", '[null,"$K1"]')
  return ask(server, { method: "POST", path, body, headers: { "next-action": id, ...sameOriginHeaders(), ...headers } })
}

/** The headers of a form that a browser submits from the product's pages, as a reverse proxy passes them on. */
export function sameOriginHeaders(): Record<string, string> {
  const { origin, host } = new URL(env().BASE_URL)
  return { origin, host, "x-forwarded-for": anotherAddress() }
}

/** The hidden fields of the page's form whose HTML contains `mark`, as a browser without scripts sends them. */
export function hiddenFields(html: string, mark: string): Record<string, string> {
  const form = html.match(/<form\b[\s\S]*?<\/form>/g)?.find((candidate) => candidate.includes(mark))
  if (!form) throw new Error(`There is no form with ${mark}.`)
  const fields: Record<string, string> = {}
  for (const [input] of form.matchAll(/<input\b[^>]*>/g)) {
    if (attribute(input, "type") === "hidden") fields[attribute(input, "name")] = attribute(input, "value")
  }
  return fields
}

function attribute(tag: string, name: string): string {
  return unescaped(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? "")
}

export function unescaped(html: string): string {
  const entities: Record<string, string> = { quot: '"', "#x27": "'", lt: "<", gt: ">", amp: "&" }
  return html.replace(/&(quot|#x27|lt|gt|amp);/g, (_, name: string) => entities[name] ?? "")
}
