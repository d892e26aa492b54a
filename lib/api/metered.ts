import { topUp } from "@optional/payments/top-up"
import { z } from "zod"
import type { OwnerId } from "@/lib/authority/owner"
import { noticeLater } from "@/lib/credits/notices"
import { fingerprintOf, type RunResult, run, type Worked } from "@/lib/credits/run"
import type { Spending } from "@/lib/credits/spending"
import { readStatements } from "@/lib/credits/store"
import { inCredits } from "@/lib/credits/words"
import type { Statement } from "@/lib/platform/postgres/page"
import { wholeClientAddress } from "@/lib/platform/rate-limit/client-address"
import { id, timestamp } from "@/lib/platform/schemas/fields"
import { log } from "@/lib/platform/telemetry/log"
import { addingCredits } from "@/lib/top-up"
import { authorizeAgain, type Caller } from "./authenticate"
import { readJson, validated } from "./body"
import { type PreparedCall, type Routes, routes } from "./endpoint"
import { runEnvelope, runIdOf } from "./envelope"
import { type ErrorCode, refuseAs } from "./errors"
import { idempotencyKeyHeader, readIdempotencyKey } from "./idempotency-key"
import { ownObject } from "./object"
import { parseParameters } from "./query"
import { type Draft, setAll } from "./respond"
import type { Counts } from "./result-words"
import { ours, type Said, said } from "./said"

export const meteredErrors: readonly ErrorCode[] = [
  "insufficient_credits",
  "key_limit_reached",
  "idempotency_in_progress",
  "payload_too_large",
  "idempotency_mismatch",
]

/** Reserves the maximum cost before the work. A retry with the same Idempotency-Key is never charged twice. */
export function userMetered<
  Body extends z.ZodType,
  Result extends z.ZodType,
  Work extends Worked<z.input<Result>> = Worked<z.input<Result>>,
>({
  summary,
  maxCost,
  costOf = () => maxCost,
  body,
  result,
  counts,
  work,
  store,
  sample,
}: {
  summary: string
  /** In credits, at least 1. No call is charged more, even if `work` returns a higher cost. */
  maxCost: number
  /**
   * The most that a call with this body can cost, held of its key's spending limit. It runs before anything is paid, so
   * it must do no more than read each character once.
   */
  costOf?: (body: z.output<Body>) => number
  body: Body
  result: Result
  /** Without it, a page that makes a call shows only its cost, and the result as JSON. */
  counts?: Counts<z.output<Result>>
  /** `signal` aborts when the time is up. A thrown error becomes the response, and nothing is charged. */
  work: (body: z.output<Body>, context: { runId: string; owner: OwnerId; signal: AbortSignal }) => Promise<Work>
  /**
   * Statements that store the work, five at most, in the transaction that charges it: `worked` is the value that `work`
   * returned. If one fails, nothing is charged and the response is 500. docs/ledger.md has the rules.
   */
  store?: (worked: Work, context: { runId: string; owner: OwnerId }) => readonly Statement[]
  /**
   * The result for a text that a visitor types on the start page, in place of the first text of the example body. It
   * has no account and nobody pays for it: a pure function of a few milliseconds, which never calls `work`. Without it,
   * the start page shows the recorded example.
   */
  sample?: (text: string) => Worked<z.input<Result>>
}): Routes {
  const published = (worked: Worked<z.input<Result>>) => ({
    result: result.parse(worked.result),
    cost: Math.min(worked.cost, maxCost),
  })
  function prepare(path: string, sent: unknown, at?: readonly string[]): PreparedCall {
    const input = validated(sent, body, at)
    const fingerprint = fingerprintOf(path, input)
    return {
      fingerprint,
      get maxCost() {
        return holdOf(costOf(input), maxCost)
      },
      async execute({ request, caller, access, withinDeadline, deadline, draft }, idempotencyKey, promised) {
        const amount = promised?.maxCost ?? maxCost
        const attempt = ({ key, owner }: Caller) =>
          run(
            {
              owner: owner.id,
              keyId: key.id,
              address: wholeClientAddress(request.headers),
              idempotencyKey,
              fingerprint: promised?.fingerprint ?? fingerprint,
              amount,
              keyHold: key.has_spend_limit ? (promised?.maxCost ?? holdOf(costOf(input), maxCost)) : undefined,
            },
            async (context) => {
              draft.runId = context.runId
              const worked = await work(input, { ...context, owner: owner.id })
              return {
                result: result.parse(worked.result),
                // Costs that rose after a promise are no bug in the work, which would be logged.
                cost: promised ? Math.min(worked.cost, amount) : worked.cost,
                statements: store && readStatements(store(worked, { runId: context.runId, owner: owner.id })),
              }
            },
            runEnvelope,
            deadline,
          )
        let outcome = await attempt(caller)
        if (!outcome.ok && outcome.reason === "key_changed") {
          outcome = await attempt(await withinDeadline(() => authorizeAgain(request.headers, caller, access)))
        }
        const isCharge = outcome.ok ? !outcome.replayed : outcome.reason === "insufficient"
        if (isCharge) noticeLater(caller.owner.id, maxCost)
        if (!outcome.ok) return refuseRun(outcome, amount, promised ? "run intent" : idempotencyKeyHeader)
        draft.credits = outcome.charged
        return outcome.replayed ? replay(draft, outcome.body) : outcome.body
      },
    }
  }

  return routes(
    {
      ...ownObject,
      scope: "run",
      method: "POST",
      summary,
      body,
      errors: meteredErrors,
      data: settledRun(maxCost, result),
      metered: {
        maxCost,
        prepare,
        ...(counts && { counts }),
        ...(sample && { sample: (text) => published(sample(text)) }),
      },
    },
    async (call) => {
      parseParameters(call.url.search, ownObject.parameters)
      const idempotencyKey = readIdempotencyKey(call.request.headers)
      return prepare(call.url.pathname, await readJson(call.request)).execute(call, idempotencyKey)
    },
  )
}

/** Responds with the stored response of a run. */
export function replay(draft: Draft, body: string): string {
  setAll(draft.headers, { "Idempotency-Replayed": "true" })
  draft.runId = runIdOf(body)
  return body
}

/** A hold outside 1 to the maximum is a bug in `costOf`. */
function holdOf(cost: number, max: number): number {
  if (Number.isInteger(cost) && cost >= 1 && cost <= max) return cost
  log().error({ cost: String(cost), max }, "hold_out_of_range")
  return max
}

function settledRun(maxCost: number, result: z.ZodType) {
  return z.object({
    id: id.describe("The run; its ledger entries have this id as runId"),
    cost: z.int().min(0).max(maxCost).describe("Credits that were charged"),
    balance: z.int().min(0).describe("Credits left when the run was settled"),
    result,
    createdAt: timestamp,
  })
}

function refuseRun(outcome: Extract<RunResult, { ok: false }>, maxCost: number, repeated: string): never {
  switch (outcome.reason) {
    case "insufficient": {
      const { label, url } = addingCredits()
      return refuseAs(
        "insufficient_credits",
        said`A call needs a balance of ${ours(inCredits(maxCost))}, its maximum cost, and the balance is ${outcome.balance}. Nothing was charged. ${ours(label)}: ${ours(url)}`,
        topUp() && { Link: `<${url}>; rel="payment"` },
      )
    }
    case "key_limit":
      return refuseAs("key_limit_reached", describeLimit(outcome.spending, outcome.keyHold))
    case "mismatch":
      return refuseAs(
        "idempotency_mismatch",
        said`This ${ours(repeated)} was already used with a different body. Use a new one.`,
      )
    case "in_progress":
      return refuseAs(
        "idempotency_in_progress",
        said`The call with this ${ours(repeated)} is still running. Try again to get its response.`,
        { "Retry-After": String(Math.min(2, outcome.secondsLeft)) },
      )
    case "key_changed":
      return refuseForNow("This key is being changed.", 1)
    case "busy":
      return refuseForNow("Other calls of this account took the credits first.", 1)
    case "timed_out":
    case "too_late":
      return refuseForNow("The call did not finish in time.", 2)
  }
}

function refuseForNow(why: string, seconds: number): never {
  const message = said`${ours(why)} Nothing was charged; try again.`
  return refuseAs("service_unavailable", message, { "Retry-After": String(seconds) })
}

function describeLimit({ limit, period, spent, held, resetsAt }: Spending, cost: number): Said {
  const per = period === "never" ? "in total" : `per ${period}`
  const reset = resetsAt ? `resets at ${resetsAt.toISOString()}` : "never resets"
  return said`This key may spend ${ours(`${inCredits(limit)} ${per}`)}. Spent: ${spent}; held by running calls: ${held}; this call: up to ${cost}. The limit ${ours(reset)}. Nothing was charged.`
}
