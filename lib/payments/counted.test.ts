import { expect, test, vi } from "vitest"
import { log } from "@/lib/platform/telemetry/log"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { counted } from "./counted"
import { KeyRefused, ProviderUnavailable } from "./errors"
import type { PaymentProvider } from "./provider"

test("each call of a provider is counted with its outcome, and its result or error stays", async () => {
  let failure: Error | undefined
  const act = async () => {
    if (failure) throw failure
    return { url: "https://pay.example" }
  }
  const names = [
    "checkout",
    "portal",
    "fetch",
    "refund",
    "cancel",
    "change",
    "charge",
    "forget",
    "leave",
    "card",
  ] as const
  const provider = counted(Object.fromEntries(names.map((name) => [name, act])) as unknown as PaymentProvider)
  const calls = names.map((name) => provider[name] as unknown as typeof act)
  for (const call of calls) expect(await call()).toEqual({ url: "https://pay.example" })
  for (failure of [new ProviderUnavailable("It does not respond."), new Error("It refuses.")])
    for (const call of calls) await expect(call()).rejects.toBe(failure)
  const { values } = await metrics().paymentCalls.get()
  const outcomes = Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]))
  expect(outcomes).toEqual({ done: 10, unavailable: 10, refused: 10 })
})

test("a key that the provider does not accept is an error in the log, and the provider is away for customers", async () => {
  const logged = vi.spyOn(log(), "error").mockImplementation(() => {})
  const error = new KeyRefused("Stripe does not accept the key in STRIPE_SECRET_KEY.")
  const portal = () => Promise.reject(error)
  await expect(counted({ portal } as unknown as PaymentProvider).portal("cus_1", "")).rejects.toBe(error)
  expect(error).toBeInstanceOf(ProviderUnavailable)
  expect(logged).toHaveBeenCalledWith({ why: error.message }, "payment_key_refused")
})
