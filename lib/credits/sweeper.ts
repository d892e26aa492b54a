import { env } from "@/lib/env"
import { foldDailyChanges } from "@/lib/postgres/daily-sums"
import { singleton } from "@/lib/singleton"
import { log } from "@/lib/telemetry/log"
import { metrics } from "@/lib/telemetry/metrics"
import { sweep } from "./ledger"

const sweepEveryMs = 10_000

/**
 * Releases overdue reservations and folds the daily sums in the background. Every instance does this unless
 * `SWEEPER=off`, so the runs of a crashed instance are released by the others.
 */
export function startSweeper(): void {
  if (env().SWEEPER === "off") return
  singleton("sweeper", () => {
    const timer = setInterval(() => {
      sweepOnce()
      foldDailyChanges().catch((error) => log().warn({ why: String(error) }, "fold_failed"))
    }, sweepEveryMs)
    return timer.unref()
  })
}

async function sweepOnce(): Promise<void> {
  const { sweeps, swept } = metrics()
  try {
    swept.inc((await sweep()).released)
    sweeps.inc({ outcome: "done" })
  } catch (error) {
    sweeps.inc({ outcome: "failed" })
    log().warn({ why: String(error) }, "sweep_failed")
  }
}
