import { type Handler, type Method, methodNotAllowed, methods, nothing } from "@/lib/api/methods"

const files = import.meta.glob<Readonly<Record<Method, Handler>>>(
  ["../app/api/v1/**/route.ts", "../app/mcp/**/route.ts"],
  { eager: true },
)

/** Next handles folders with a parameter in their name, and /api/leaks, whose work in the background needs Prisma. */
const routes = new Map(
  Object.entries(files)
    .map(([file, route]) => [file.slice("../app".length, -"/route.ts".length), route] as const)
    .filter(([path]) => !path.includes("[")),
)

/** Undefined for pages, and for paths that are not spelled exactly as their route, which Next resolves. */
export function handlerFor(method: string, target: string): Handler | undefined {
  const [path = ""] = target.split("?", 1)
  const route = routes.get(path) ?? (hasOtherCase(path) ? nothing : undefined)
  if ((methods as readonly string[]).includes(method)) return route?.[method as Method]
  // No route supports DELETE: its handler returns 405 with the method of the request and the methods of the route.
  return route?.DELETE ?? methodNotAllowed
}

/** Next would respond to such a path with a page. */
function hasOtherCase(path: string): boolean {
  return /^\/api(\/|$)/i.test(path) && !path.startsWith("/api")
}
