import { jobs as paymentJobs } from "@optional/payments/jobs"
import type { Pool } from "pg"
import { firstUnsealedDay, sealAuditLog } from "@/lib/audit/seals"
import { sendAlerts } from "@/lib/credits/alerts"
import { sweepIntents } from "@/lib/credits/intents"
import { sweep } from "@/lib/credits/ledger"
import { sendNotices } from "@/lib/credits/notice-emails"
import { env } from "@/lib/env"
import { remindOfExpiry } from "@/lib/keys/reminders"
import { countWaitingErasures, eraseDueAccounts } from "@/lib/leaving/erasure"
import { foldDailyChanges } from "@/lib/platform/postgres/daily-sums"
import { pool } from "@/lib/platform/postgres/pool"
import { foldRequestSums } from "@/lib/platform/postgres/request-sums"
import { log } from "@/lib/platform/telemetry/log"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { dropOldRequests } from "@/lib/request-log/retention"
import { renewAppSecrets } from "@/lib/sign-in/two-factor/app"
import { singleton } from "@/lib/singleton"

type Job = {
  everyMs: number
  /** Any number of processes may run it at once. @returns a summary for the command, empty if the job has no work here */
  run: (database: Pool) => Promise<string>
}

export const jobs = {
  reservations: { everyMs: 10_000, run: releaseOverdue },
  run_intents: {
    everyMs: 60_000,
    run: async (database) => {
      const { emptied, deleted } = await sweepIntents(database)
      return `${emptied} bodies of expired run intents removed, ${deleted} run intents deleted`
    },
  },
  daily_sums: {
    everyMs: 10_000,
    run: async (database) => {
      await foldRequestSums(database)
      return `${await foldDailyChanges(database)} changes folded into the daily sums`
    },
  },
  request_log: {
    everyMs: 600_000,
    run: async (database) => `${await dropOldRequests(database)} days dropped from the request log`,
  },
  reminders: {
    everyMs: 60_000,
    run: async (database) => `${await remindOfExpiry(database)} emails sent about keys that expire`,
  },
  credit_notices: {
    everyMs: 60_000,
    run: async (database) => `${await sendNotices(database)} emails sent about credits that run out`,
  },
  ...paymentJobs,
  credit_alerts: {
    everyMs: 60_000,
    run: async (database) => `${await sendAlerts(database)} emails sent that accounts have asked for`,
  },
  audit_seals: { everyMs: 60_000, run: sealAudit },
  app_secrets: { everyMs: 600_000, run: renewAppSecrets },
  deletions: { everyMs: 60_000, run: erase },
} as const satisfies Record<string, Job>

/** Every instance runs them unless `SWEEPER=off`, so others do the work of a crashed one. */
export function startSweeper(): void {
  if (env().SWEEPER === "off") return
  singleton("sweeper", () => Object.entries(jobs).map(([name, job]) => repeat(name, job)))
}

function repeat(job: string, { everyMs, run }: Job): NodeJS.Timeout {
  // Prometheus sees no increase in a series that starts at 1.
  for (const outcome of ["done", "failed"]) metrics().sweeps.inc({ job, outcome }, 0)
  let running = false
  const timer = setInterval(async () => {
    if (running) return
    running = true
    try {
      await run(pool())
      metrics().sweeps.inc({ job, outcome: "done" })
    } catch (error) {
      metrics().sweeps.inc({ job, outcome: "failed" })
      log().warn({ job, why: String(error) }, "sweep_failed")
    }
    running = false
  }, everyMs)
  return timer.unref()
}

async function releaseOverdue(database: Pool): Promise<string> {
  const { released, freed } = await sweep(database)
  metrics().swept.inc(released)
  return `${released} overdue reservations released, ${freed} idempotency keys freed`
}

async function erase(): Promise<string> {
  try {
    return `${await eraseDueAccounts()} accounts erased`
  } finally {
    metrics().erasuresWaiting.set(await countWaitingErasures())
  }
}

async function sealAudit(database: Pool): Promise<string> {
  try {
    return `${await sealAuditLog(database)} days of the audit log sealed`
  } finally {
    metrics().unsealed.set((await firstUnsealedDay(database)).getTime() / 1_000)
  }
}
