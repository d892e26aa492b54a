import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { serve } from "@/scripts/build-and-serve"
import { measureCapacity, send } from "@/tests/load/load"
import { exchange } from "@/tests/support/exchange"
import { provideBuild, runProgram } from "@/tests/support/lifecycle"
import { work } from "@/tests/support/work"
import { createKeys, median, openDatabase, printConditions, quantile, sized, startServer } from "./bench"

// Measures what one greedy account costs all others: how much longer their reads and runs take while it sends ten times
// its share of the server's capacity, half of all that the machine can do. The same calls of ten accounts, each at its
// share, show how much of that is the load of the machine.

const ordinaryAccounts = 19
/** The part of their share of the capacity that ordinary accounts use. */
const use = 0.2
const greed = 10
const rounds = sized(9, 1)
const seconds = sized({ warmUp: 5, round: 10 }, { warmUp: 1, round: 1 })
const goal = 1.5

const kinds = ["GET /me", "POST /me/run"] as const

type Kind = (typeof kinds)[number]
type Response = { kind: Kind; status: number; ms: number }

async function main(): Promise<void> {
  await provideBuild()
  const given = await openDatabase(10)
  const ordinaryKeys = await createKeys("user", "member", ordinaryAccounts)
  const greedyKeys = await createKeys("user", "member")
  const spreadKeys = await createKeys("user", "member", greed)
  const { address } = await startServer((port) => serve(port, { ...given, LOG_LEVEL: "silent" }), "/api/v1/me")
  const ordinary = () => client(address, ordinaryKeys)
  const capacity = await measureCapacity(ordinary(), seconds.warmUp)
  const share = capacity / (ordinaryAccounts + 1)
  await printConditions(
    `${ordinaryAccounts} accounts at ${use} of their share of ${capacity.toFixed(0)} calls/s, one at ${greed} times its share, medians of ${rounds} rounds of ${seconds.round} s in turns`,
  )

  const calm: Response[][] = []
  const spread: Response[][] = []
  const beside: Response[][] = []
  const greedy: Response[][] = []
  for (let round = 0; round < rounds; round++) {
    const alone = ordinary()
    await during(seconds.round, [alone, ordinaryAccounts * use * share])
    calm.push(alone.responses)
    for (const [keys, taken] of [[spreadKeys, spread] as const, [greedyKeys, beside] as const]) {
      const [others, more] = [ordinary(), client(address, keys)]
      await during(seconds.round, [others, ordinaryAccounts * use * share], [more, greed * share])
      taken.push(others.responses)
      if (taken === beside) greedy.push(more.responses)
    }
  }
  print({ calm, spread, beside, greedy })
}

/** A client that sends a read and a run in turns, each with the next of the keys. */
function client(address: string, keys: readonly string[]) {
  const responses: Response[] = []
  let sent = 0
  async function act(): Promise<void> {
    const kind = kinds[sent % kinds.length] ?? "GET /me"
    const headers = { "x-api-key": keys[Math.floor(sent++ / kinds.length) % keys.length] ?? "" }
    const start = performance.now()
    const response = await (kind === "GET /me"
      ? exchange(`${address}/api/v1/me`, { headers })
      : exchange(address + work.path, runWith(headers)))
    responses.push({ kind, status: response?.status ?? 0, ms: performance.now() - start })
  }
  return { act, responses }
}

function runWith(headers: Record<string, string>) {
  return {
    method: "POST",
    headers: { ...headers, "content-type": "application/json", "idempotency-key": randomUUID() },
    body: work.body,
  }
}

/** Lets clients send at constant rates per second, and waits for the last response. */
async function during(duration: number, ...rates: readonly [ReturnType<typeof client>, number][]): Promise<void> {
  let over = false
  const sending = rates.map(([sender, rate]) => send(sender, rate, () => over))
  await sleep(duration * 1_000)
  over = true
  await Promise.all(sending)
}

function print({ calm, spread, beside, greedy }: Record<"calm" | "spread" | "beside" | "greedy", Response[][]>): void {
  const p99 = (taken: readonly Response[][], kind: Kind) =>
    median(taken.map((round) => quantile(timesOf(round, kind), 0.99)))
  console.log(
    `\n${"p99 of the others".padEnd(20)}calm ms   beside ten ms   beside one ms   one / ten   one / calm      goal`,
  )
  for (const kind of kinds) {
    const [before, loaded, after] = [p99(calm, kind), p99(spread, kind), p99(beside, kind)]
    const ratio = after / before
    console.log(
      [
        kind.padEnd(20),
        before.toFixed(1).padStart(7),
        loaded.toFixed(1).padStart(16),
        after.toFixed(1).padStart(16),
        (after / loaded).toFixed(2).padStart(12),
        ratio.toFixed(2).padStart(13),
        `<= ${goal}`.padStart(10),
        `   ${ratio <= goal ? "met" : "missed"}`,
      ].join(""),
    )
  }
  const failed = beside.flat().filter(({ status }) => status !== 200).length
  console.log(`Responses to the others other than 200: ${failed} of ${beside.flat().length}`)
  const accepted = greedy.flat().filter(({ status }) => status === 200).length
  console.log(
    `The greedy account: ${((100 * accepted) / greedy.flat().length).toFixed(0)} % of ${greedy.flat().length} calls accepted`,
  )
}

function timesOf(responses: readonly Response[], kind: Kind): number[] {
  return responses.filter((response) => response.kind === kind).map(({ ms }) => ms)
}

await runProgram(main)
