import { startSweeper } from "@/lib/credits/sweeper"
import { pool } from "@/lib/postgres/pool"
import { startTracing } from "@/lib/telemetry/tracing"
import { releaseFinishedRenders } from "./release-renders"
import { watchRequests } from "./requests"

/** What every process does before it serves, whichever listener it has. */
export async function startProcess(): ReturnType<typeof startTracing> {
  const tracing = await startTracing()
  watchRequests()
  releaseFinishedRenders()
  // Its metrics are there from the start.
  pool()
  startSweeper()
  return tracing
}
