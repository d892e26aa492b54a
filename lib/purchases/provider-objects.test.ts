import { expect, test } from "vitest"
import { safeUrl } from "./provider-objects"

test.each([
  ["https://dashboard.stripe.com/payments/pi_1", true],
  ["http://127.0.0.1:12111/dashboard/payments/pi_1", true],
  ["http://localhost:12111/dashboard/invoices/in_1", true],
  ["http://dashboard.stripe.com/payments/pi_1", false],
  ["https://dashboard.stripe.com.evil.example/payments/pi_1", false],
  ["https://dashboard.stripe.com:8443/payments/pi_1", false],
  ["https://dashboard.stripe.com@evil.example/", false],
  ["https://user@dashboard.stripe.com/", false],
  ["https://evil.example/127.0.0.1", false],
  ["http://127.0.0.1.evil.example/", false],
  ["javascript:alert(1)//https://dashboard.stripe.com", false],
  ["data:text/html,x", false],
  ["/admin", false],
  ["", false],
])("the console links to %j: %s", (url, isLinked) => {
  expect(safeUrl(url)).toBe(isLinked ? url : null)
})
