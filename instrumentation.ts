import type { Instrumentation } from "next"

/** Runs once in each server process, before the first request. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return
  const [{ checkEnvironment }, { startProcess }, { delayExit }, { startSweeper }] = await Promise.all([
    import("./lib/env"),
    import("./lib/next/start"),
    import("./lib/next/delay-exit"),
    import("./lib/sweeper"),
  ])
  checkEnvironment()
  await startProcess()
  delayExit()
  // Not in startProcess, which our listener bundles: the sweeper sends emails and so needs Prisma.
  startSweeper()
}

/** Called for errors thrown by pages and actions; the API handles its own errors. */
export const onRequestError: Instrumentation.onRequestError = async (error, { headers }, { routePath, routeType }) => {
  if (process.env.NEXT_RUNTIME !== "nodejs") return
  const { log } = await import("@/lib/telemetry/log")
  const { digest } = error as { digest?: string }
  // The message of a SyntaxError may quote input.
  const why = error instanceof SyntaxError ? error.name : error instanceof Error ? error.stack : String(error)
  log().error({ requestId: headers["x-request-id"], route: routePath, part: routeType, digest, why }, "page_failed")
}
