import { unstable_rethrow } from "next/navigation"
import { failureOf } from "@/lib/api/streams/download"
import { markRead } from "@/lib/platform/http/responses"

export function withFailures<Context>(
  handle: (request: Request, context: Context) => Promise<Response>,
): (request: Request, context: Context) => Promise<Response> {
  return async (request, context) => {
    markRead(request.headers)
    try {
      return await handle(request, context)
    } catch (error) {
      // Redirects and 404s are errors, too.
      unstable_rethrow(error)
      return failureOf(error, request)
    }
  }
}
