import { env } from "@/lib/env"
import { pool } from "@/lib/postgres/pool"
import { singleton } from "@/lib/singleton"
import { startTracing } from "@/lib/telemetry/tracing"
import { refuseDemoKeys } from "./demo-keys"
import { watchRequests } from "./incoming-requests"
import { releaseFinishedRenders } from "./release-renders"
import { warnOfRights } from "./rights"

/** Starts what every server process needs, with our listener and under Next alone. */
export async function startProcess(): ReturnType<typeof startTracing> {
  const tracing = await startTracing()
  watchRequests()
  releaseFinishedRenders()
  // Creates the pool, so that its metrics exist from the start.
  pool()
  await singleton("demo-keys", refuseDemoKeys)
  await singleton("rights", warnOfRights)
  if (env().VERIFY_EMAIL === "off") console.warn("VERIFY_EMAIL is off: anybody can sign up with any address.")
  return tracing
}
