import { type Handler, type Method, methodNotAllowed, methods, nothing } from "@/lib/api/methods"

const files = import.meta.glob<Readonly<Record<Method, Handler>>>("../app/api/v1/**/route.ts", { eager: true })

/**
 * The API route files by path. Next handles folders with a parameter in their name, and /api/leaks, whose work in the
 * background needs Prisma.
 */
const routes = new Map(
  Object.entries(files)
    .map(([file, route]) => [file.slice("../app".length, -"/route.ts".length), route] as const)
    .filter(([path]) => !path.includes("[")),
)

/**
 * The handler of an API request. Undefined for pages, and for paths that are not spelled exactly as their route
 * (encoded, in another case, with a trailing slash), which Next resolves.
 */
export function handlerFor(method: string, target: string): Handler | undefined {
  const [path = ""] = target.split("?", 1)
  const route = routes.get(path) ?? (hasOtherCase(path) ? nothing : undefined)
  if ((methods as readonly string[]).includes(method)) return route?.[method as Method]
  // No route supports DELETE: its handler returns 405 with the method of the request and the methods of the route.
  return route?.DELETE ?? methodNotAllowed
}

/** Whether a path starts with /api in another case; Next would respond with a page. */
function hasOtherCase(path: string): boolean {
  return /^\/api(\/|$)/i.test(path) && !path.startsWith("/api")
}
