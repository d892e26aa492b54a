import { type Handler, type Method, methodNotAllowed, methods, nothing } from "@/lib/api/respond"

/** What a route file of the API exports: an answer for every method that Next knows. */
type RouteFile = Readonly<Record<Method, Handler>>

const files = import.meta.glob<RouteFile>("../app/api/v1/**/route.ts", { eager: true })

/** The route files of the API by the path they serve. A folder with a parameter in its name is left to Next. */
const routes = new Map(
  Object.entries(files)
    .map(([file, route]) => [file.slice("../app".length, -"/route.ts".length), route] as const)
    .filter(([path]) => !path.includes("[")),
)

/**
 * The function that answers a request by itself. Nothing for pages, and for paths that are not written as their route is
 * (encoded, in another case, with a slash at the end): what these mean, Next decides.
 */
export function handlerFor(method: string, target: string): Handler | undefined {
  const [path = ""] = target.split("?", 1)
  const route = routes.get(path) ?? (isMisspelt(path) ? nothing : undefined)
  if (isKnown(method)) return route?.[method]
  // No route has DELETE: it refuses by the name the request gives, and says what the route has.
  return route?.DELETE ?? methodNotAllowed
}

/** A path of the API but for its case, which Next would answer with a page. */
function isMisspelt(path: string): boolean {
  return /^\/api(\/|$)/i.test(path) && !path.startsWith("/api")
}

function isKnown(method: string): method is Method {
  return (methods as readonly string[]).includes(method)
}
