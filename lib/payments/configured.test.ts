import { afterEach, expect, test, vi } from "vitest"
import { demoPayments } from "@/lib/env"
import { singletons } from "@/lib/singleton"
import { paymentProvider } from "./configured"

afterEach(() => {
  vi.unstubAllEnvs()
  delete singletons.env
  delete singletons.paymentProvider
})

test("without keys there is no payment provider", () => {
  expect(paymentProvider()).toBeNull()
})

test("with keys there is one for the process", () => {
  delete singletons.env
  for (const [name, value] of Object.entries(demoPayments)) vi.stubEnv(name, value)
  vi.stubEnv("STRIPE_API_URL", "http://127.0.0.1:1")
  expect(paymentProvider()?.name).toBe("stripe")
  expect(paymentProvider()).toBe(paymentProvider())
})
