import { setTimeout as sleep } from "node:timers/promises"
import { Random } from "@/prisma/random"
import { serve } from "@/scripts/build-and-serve"
import { measureCapacity, send } from "@/tests/load/load"
import { createPeople, createTraffic, type Traffic } from "@/tests/load/soak-clients"
import { provideBuild, runProgram } from "@/tests/support/program"
import { openDatabase, printConditions, quantile, startServer } from "./bench"

// What a server still does when twice as much is asked of it as it can do, in the mix of the soak. The floor is what the
// same server did just before, when it was asked for no more than it could do.

const seconds = 30

async function main(): Promise<void> {
  await provideBuild()
  const given = await openDatabase(10)
  const people = await createPeople(200)
  const server = await startServer(
    (port) => serve(port, { ...given, BASE_URL: `http://127.0.0.1:${port}`, LOG_LEVEL: "error" }),
    "/api/v1/me",
  )
  const traffic = createTraffic({
    random: new Random(1),
    people,
    address: server.address,
    isExcused: () => false,
    onViolation: (text) => console.error(text),
  })
  const capacity = await measureCapacity(traffic, seconds / 3)
  const floor = answersSince(traffic, Date.now() - (seconds / 3) * 1_000).good.length / (seconds / 3)

  let over = false
  const began = Date.now()
  const sending = send(traffic, 2 * capacity, () => over)
  await sleep(seconds * 1_000)
  const { good, refused } = answersSince(traffic, began)
  over = true
  await sending
  const ms = good.map((response) => response.ms)
  await printConditions(`${seconds} s with twice as many calls begun as it can do`)
  console.log(`Floor: ${floor.toFixed(0)} answers a second`)
  console.log(`Overloaded: ${(good.length / seconds / floor).toFixed(2)} × as many answers that are no refusal`)
  console.log(`Refused with 503: ${(refused.length / seconds).toFixed(0)} a second`)
  console.log(`Answers that are no refusal take ${quantile(ms, 0.5)} ms at p50, ${quantile(ms, 0.99)} ms at p99`)
}

/** Answers until now, and those of them that were refusals for want of room. */
function answersSince(traffic: Traffic, from: number) {
  const all = [...traffic.responses.values()].flat().filter(({ at }) => at >= from)
  const isGood = ({ status = 599 }) => status < 500
  return { good: all.filter(isGood), refused: all.filter(({ status }) => status === 503) }
}

await runProgram(main)
