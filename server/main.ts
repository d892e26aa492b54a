import cluster from "node:cluster"
import nextEnv from "@next/env"
import { checkEnvironment, env } from "@/lib/env"
import { serve } from "./serve"
import { startWorkers } from "./workers"

// What `npm start` runs, bundled into dist: the API by a listener of its own, pages by Next, in WEB_CONCURRENCY processes.
Object.assign(process.env, { NODE_ENV: process.env.NODE_ENV || "production" })
nextEnv.loadEnvConfig(process.cwd())
checkEnvironment()
const { WEB_CONCURRENCY } = env()
if (cluster.isPrimary && WEB_CONCURRENCY > 1) startWorkers(WEB_CONCURRENCY)
else await serve()
