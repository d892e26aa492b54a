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
    isExcused: () => true,
    // Above its capacity a server also refuses accounts and addresses whose own requests wait, and the kernel connections.
    onViolation: (text) => {
      if (!/: (429\b|no response$)/.test(text)) console.error(text)
    },
  })
  const capacity = await measureCapacity(traffic, seconds / 3)
  const baseline = responsesSince(traffic, Date.now() - (seconds / 3) * 1_000).accepted.length / (seconds / 3)

  let over = false
  const started = Date.now()
  const sending = send(traffic, 2 * capacity, () => over)
  await sleep(seconds * 1_000)
  const { accepted, refused, lost } = responsesSince(traffic, started)
  over = true
  await sending
  const ms = accepted.map((response) => response.ms)
  await printConditions(`${seconds} s with twice as many calls as the server can handle`)
  console.log(`Baseline: ${baseline.toFixed(0)} responses a second`)
  console.log(`Overloaded: ${(accepted.length / seconds / baseline).toFixed(2)} × the baseline, without refusals`)
  console.log(
    `Refused with 429 or 503: ${(refused.length / seconds).toFixed(0)} a second; without a response: ${lost.length} in all`,
  )
  console.log(`Accepted requests take ${quantile(ms, 0.5)} ms at p50, ${quantile(ms, 0.99)} ms at p99`)
}

/** The calls since then: `refused` with 429 or 503, `accepted` with another status below 500, `lost` without a response. */
function responsesSince(traffic: Traffic, from: number) {
  const all = [...traffic.responses.values()].flat().filter(({ at }) => at >= from)
  const isRefused = ({ status = 0 }) => status === 429 || status === 503
  const isAccepted = ({ status = 599 }) => status < 500 && status !== 429
  return {
    accepted: all.filter(isAccepted),
    refused: all.filter(isRefused),
    lost: all.filter(({ status }) => status === undefined),
  }
}

await runProgram(main)
