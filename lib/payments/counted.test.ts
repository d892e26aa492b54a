import { expect, test } from "vitest"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { counted } from "./counted"
import { ProviderUnavailable } from "./errors"
import type { PaymentProvider } from "./provider"

test("each call of a provider is counted with its outcome, and its result or error stays", async () => {
  let failure: Error | undefined
  const act = async () => {
    if (failure) throw failure
    return { url: "https://pay.example" }
  }
  const names = ["checkout", "portal", "fetch", "refund", "cancel", "change", "charge", "forget"] as const
  const provider = counted(Object.fromEntries(names.map((name) => [name, act])) as unknown as PaymentProvider)
  const calls = names.map((name) => provider[name] as unknown as typeof act)
  for (const call of calls) expect(await call()).toEqual({ url: "https://pay.example" })
  for (failure of [new ProviderUnavailable("It does not respond."), new Error("It refuses.")])
    for (const call of calls) await expect(call()).rejects.toBe(failure)
  const { values } = await metrics().paymentCalls.get()
  const outcomes = Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]))
  expect(outcomes).toEqual({ done: 8, unavailable: 8, refused: 8 })
})
