import { setTimeout as sleep } from "node:timers/promises"
import { Random } from "@/prisma/random"
import { serve } from "@/scripts/build-and-serve"
import { measureCapacity, send } from "@/tests/load/load"
import { createLoadAccounts, createTraffic, type Traffic } from "@/tests/load/soak-clients"
import { provideBuild, runProgram } from "@/tests/support/lifecycle"
import { openDatabase, printConditions, quantile, sized, startServer } from "./bench"

// Measures the throughput of a server at twice the load that it can handle, with the request mix of the soak test. The
// baseline is the throughput of the same server just before, at full load.

const seconds = sized(30, 3)

async function main(): Promise<void> {
  await provideBuild()
  const given = await openDatabase(10)
  const accounts = await createLoadAccounts(200)
  const server = await startServer(
    (port) =>
      serve(port, {
        ...given,
        BASE_URL: `http://127.0.0.1:${port}`,
        LOG_LEVEL: "error",
        // Pages of one address take turns.
        TRUSTED_PROXY_HOPS: "1",
      }),
    "/api/v1/me",
  )
  const traffic = createTraffic({
    random: new Random(1),
    accounts,
    address: server.address,
    isExcused: () => false,
    onViolation: (text) => console.error(text),
  })
  const capacity = await measureCapacity(traffic, seconds / 3)
  const baseline = responsesSince(traffic, Date.now() - (seconds / 3) * 1_000).accepted.length / (seconds / 3)

  let over = false
  const started = Date.now()
  const sending = send(traffic, 2 * capacity, () => over)
  await sleep(seconds * 1_000)
  const { accepted, refused } = responsesSince(traffic, started)
  over = true
  await sending
  const ms = accepted.map((response) => response.ms)
  await printConditions(`${seconds} s with twice as many calls as the server can handle`)
  console.log(`Baseline: ${baseline.toFixed(0)} responses a second`)
  console.log(`Overloaded: ${(accepted.length / seconds / baseline).toFixed(2)} × the baseline, without refusals`)
  console.log(`Refused with 503: ${(refused.length / seconds).toFixed(0)} a second`)
  console.log(`Accepted requests take ${quantile(ms, 0.5)} ms at p50, ${quantile(ms, 0.99)} ms at p99`)
}

/** The responses since then: `accepted` with a status below 500, `refused` with 503. */
function responsesSince(traffic: Traffic, from: number) {
  const all = [...traffic.responses.values()].flat().filter(({ at }) => at >= from)
  const isAccepted = ({ status = 599 }) => status < 500
  return { accepted: all.filter(isAccepted), refused: all.filter(({ status }) => status === 503) }
}

await runProgram(main)
