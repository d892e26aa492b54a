import { logAuditEntries } from "@/lib/audit/entries"
import { env } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { watchStandbys } from "@/lib/platform/postgres/standbys"
import { tell } from "@/lib/platform/telemetry/printed"
import { startTracing } from "@/lib/platform/telemetry/tracing"
import { singleton } from "@/lib/singleton"
import { refuseDemoKeys, refuseNewerDatabase, warnOfRights, whenDatabaseResponds } from "./database-checks"
import { watchRequests } from "./incoming-requests"
import { releaseFinishedRenders } from "./release-renders"

export async function startProcess(): ReturnType<typeof startTracing> {
  const tracing = await startTracing()
  watchRequests()
  logAuditEntries()
  releaseFinishedRenders()
  // Creates the pools, so that their metrics exist from the start.
  pool()
  watchStandbys()
  await refuseDatabases()
  await singleton("rights", () => whenDatabaseResponds(warnOfRights))
  if (env().VERIFY_EMAIL === "off") tell("stderr", "VERIFY_EMAIL is off: anybody can sign up with any address.")
  return tracing
}

export function refuseDatabases(): Promise<void> {
  return singleton("refusals", async () => {
    await whenDatabaseResponds(refuseNewerDatabase)
    await whenDatabaseResponds(refuseDemoKeys)
  })
}
