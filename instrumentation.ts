import type { Instrumentation } from "next"

/** Runs once in each server process, before the first request. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return
  const [{ checkEnvironment }, { logWhatIsPrinted }, { startProcess }, { delayExit }, { startSweeper }] =
    await Promise.all([
      import("./lib/env"),
      import("./lib/platform/telemetry/printed"),
      import("./lib/process/start"),
      import("./lib/process/drain"),
      import("./lib/process/sweeper"),
    ])
  checkEnvironment()
  if (process.env.NODE_ENV === "production") logWhatIsPrinted()
  await startProcess()
  delayExit()
  // Not in startProcess, which our listener bundles: the sweeper sends emails and so needs Prisma.
  startSweeper()
}

/** Called for errors thrown by pages and actions; the API handles its own errors. */
export const onRequestError: Instrumentation.onRequestError = async (error, { headers }, { routePath, routeType }) => {
  if (process.env.NEXT_RUNTIME !== "nodejs") return
  const [{ log }, { isUnread }] = await Promise.all([
    import("@/lib/platform/telemetry/log"),
    import("@/lib/platform/http/responses"),
  ])
  const requestId = headers["x-request-id"]
  if (isUnread(headers)) {
    const why = error instanceof Error ? error.name : typeof error
    log().warn({ requestId, route: routePath, why }, "form_not_readable")
    return
  }
  const { digest } = error as { digest?: string }
  // The message of a SyntaxError may quote input.
  const why = error instanceof SyntaxError ? error.name : error instanceof Error ? error.stack : String(error)
  log().error({ requestId, route: routePath, part: routeType, digest, why }, "page_failed")
}
