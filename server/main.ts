import cluster from "node:cluster"
import nextEnv from "@next/env"
import { checkEnvironment, env } from "@/lib/env"
import { logWhatIsPrinted } from "@/lib/platform/telemetry/printed"
import { refuseDatabases } from "@/lib/process/start"
import { serve } from "./serve"
import { startWorkers } from "./workers"

// The entry point of `npm start`, bundled into dist. Our listener serves the API, and Next serves the pages.
Object.assign(process.env, { NODE_ENV: process.env.NODE_ENV || "production" })
nextEnv.loadEnvConfig(process.cwd())
checkEnvironment()
logWhatIsPrinted()
const { WEB_CONCURRENCY } = env()
if (cluster.isPrimary && WEB_CONCURRENCY > 1) {
  // Each worker checks this too, but would be replaced when it exits.
  await refuseDatabases()
  startWorkers(WEB_CONCURRENCY)
} else await serve()
