import { noRoute } from "@/lib/request-log/lists"
import { errors, refuseAs } from "./errors"
import { identifyIfWithKey } from "./identify"
import { type Draft, respond, setAll } from "./respond"
import { notKept, ours, Said, said } from "./said"

export const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const

export type Method = (typeof methods)[number]

export type Handler = (request: Request) => Promise<Response>

export function documentRoutes(contentType: string, write: () => Promise<string>) {
  const allowed = "GET, HEAD, OPTIONS"
  let written: { day: string; document: string } | undefined
  const serve = (request: Request) =>
    respond(request, async ({ headers }) => {
      const day = new Date().toISOString().slice(0, 10)
      if (written?.day !== day) written = { day, document: await write() }
      setAll(headers, { "Content-Type": contentType, "Cache-Control": "public, max-age=300" })
      return written.document
    })
  return handleEach("GET", allowed, serve)
}

export const nothing = eachMethod((method) => async (request: Request) => {
  const response = await respond(request, (draft, url) => refusePath(request, url, draft), noRoute)
  return method === "HEAD" ? withoutBody(response) : response
})

/** Paths of an API have short lower-case words. A secret can have slashes. */
const pathSegment = /^(?:|v\d{1,2}|[a-z]{1,16}(?:[-_.][a-z]{1,16}){0,2})$/

async function refusePath(request: Request, url: URL, draft: Draft): Promise<never> {
  await identifyIfWithKey(request, url, draft)
  const segments = url.pathname.split("/").map((segment) => (pathSegment.test(segment) ? segment : notKept))
  const kept = `There is nothing at ${segments.join("/")}.`
  return refuseAs("not_found", new Said(errors.not_found.meaning, kept))
}

export function methodNotAllowed(request: Request): Promise<Response> {
  const refuse = async (draft: Draft, url: URL) => {
    await identifyIfWithKey(request, url, draft)
    return refuseMethod(request, methods.join(", "))
  }
  return respond(request, refuse, noRoute)
}

function refuseMethod({ method }: Request, allowed: string): never {
  return refuseAs("method_not_allowed", said`${method} is not available here. Allowed: ${ours(allowed)}.`, {
    Allow: allowed,
  })
}

export function handleEach(supported: "GET" | "POST", allowed: string, serve: Handler) {
  const refuse: Handler = (request) =>
    respond(request, async (draft, url) => {
      await identifyIfWithKey(request, url, draft)
      return refuseMethod(request, allowed)
    })
  const listMethods: Handler = (request) =>
    respond(request, async ({ headers }) => {
      setAll(headers, { Allow: allowed })
      return null
    })
  return eachMethod((method) => {
    if (method === supported) return serve
    if (method === "HEAD") {
      return async (request: Request) => withoutBody(await (supported === "GET" ? serve : refuse)(request))
    }
    return method === "OPTIONS" ? listMethods : refuse
  })
}

export function eachMethod<Handler>(make: (method: Method) => Handler) {
  return Object.fromEntries(methods.map((method) => [method, make(method)])) as Record<Method, Handler>
}

function withoutBody({ status, statusText, headers }: Response): Response {
  return new Response(null, { status, statusText, headers })
}
