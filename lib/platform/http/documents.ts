import type { IncomingMessage, ServerResponse } from "node:http"
import { env } from "@/lib/env"
import { singleton } from "@/lib/singleton"
import { cookieName } from "./cookies"
import type { Theme } from "./theme"

// Pages that are the same for everyone except for the theme. Each process renders them once: a render blocks the
// process, and anybody may request it.

export const documentPaths = ["/docs", "/docs/quickstart", "/docs/user", "/docs/admin", "/docs/leaks", "/for-operators"]

const themes: readonly Theme[] = ["light", "dark"]

/** Next's router reloads the page when the response is no data. */
export const routerHeader = "x-from-router"

const kept = ["connection", "upgrade", "content-length", "transfer-encoding", "accept-encoding", "x-forwarded-for"]

/** Split at the nonce, which differs in each response. */
function rendered(): Map<string, readonly string[]> {
  return singleton("documents", () => new Map())
}

function keyOf(path: string, cookie = ""): string {
  return `${path} ${cookie}`
}

/** @param cookie the header that prepareDocument leaves */
export function documentWith(nonce: string, path: string, cookie?: string): string | undefined {
  return rendered().get(keyOf(path, cookie))?.join(nonce)
}

/**
 * Keeps a client's input out of the document that others get: only the path and the theme of its request are left.
 * @param own headers that are not the client's
 */
export function prepareDocument(request: IncomingMessage, response: ServerResponse, own: readonly string[]): void {
  const [target = ""] = request.url?.split("?", 1) ?? []
  const path = decodeURIComponent(target).replace(/\/$/, "")
  if (env().NODE_ENV !== "production" || !documentPaths.includes(path)) return
  const given = request.headers
  const chosen = themes.map((theme) => `${cookieName("theme")}=${theme}`)
  const cookie = given.cookie?.split(/; */).find((pair) => chosen.includes(pair))
  const isRendered = rendered().has(keyOf(path, cookie))
  const names = [...kept, ...own].filter((name) => given[name] !== undefined)
  request.url = path
  request.headers = {
    ...Object.fromEntries(names.map((name) => [name, given[name]])),
    host: new URL(env().BASE_URL).host,
    // Next renders differently for a client without a name.
    "user-agent": "browser",
    ...(cookie && { cookie }),
    ...(given.rsc === "1" && { [routerHeader]: "1" }),
  }
  if (isRendered) return
  // Otherwise the body would be compressed.
  delete request.headers["accept-encoding"]
  keep(keyOf(path, cookie), response)
}

function keep(key: string, response: ServerResponse): void {
  const chunks: Buffer[] = []
  const { write, end } = response
  const add = (chunk: unknown) => {
    if (typeof chunk === "string" || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk as Uint8Array))
  }
  response.write = (...given: unknown[]) => {
    add(given[0])
    return Reflect.apply(write, response, given)
  }
  response.end = (...given: unknown[]) => {
    add(given[0])
    const html = Buffer.concat(chunks).toString()
    const [, nonce] = /'nonce-([^']+)'/.exec(String(response.getHeader("content-security-policy"))) ?? []
    // Without its end, the client has left or the render has failed.
    if (response.statusCode === 200 && nonce && html.endsWith("</html>")) rendered().set(key, html.split(nonce))
    return Reflect.apply(end, response, given)
  }
}
