import { describe, expect, test } from "vitest"
import { GET as run } from "@/app/api/v1/me/run/route"
import { errorCodes } from "@/lib/api/documents/document"
import { product } from "@/lib/product"
import { outcomeOf } from "./call-outcome"

const key = { id: "0197", page: "/api-keys" }
const counts = { words: ["word", "words"] } as const

function responseOf(status: number, body: object, headers: Record<string, string> = {}) {
  return { status, headers: new Headers({ "X-Request-Id": "r1", ...headers }), text: JSON.stringify(body) }
}

function failure(code: string, message = "Why.", headers = {}) {
  return outcomeOf(responseOf(403, { error: { code, message } }, headers), counts, key)
}

describe("a result in words", () => {
  const settled = (words: number, cost: number, balance: number) => ({ data: { cost, balance, result: { words } } })

  test.each([
    [settled(14, 1, 99), "14 words · 1 credit · 99 left"],
    [settled(1, 2, 0), "1 word · 2 credits · 0 left"],
    [settled(1_200, 12, 1_000), "1,200 words · 12 credits · 1,000 left"],
    [{ data: { cost: 1, balance: 99, result: {} } }, "1 credit · 99 left"],
    [{ data: { id: "k", scopes: [] } }, "Status 200: the key works"],
  ])("%j is %s", (body, words) => {
    expect(outcomeOf(responseOf(200, body), counts, key)).toEqual({ isGood: true, words, requestId: "r1" })
  })

  test("without counted fields has the price alone", () => {
    expect(outcomeOf(responseOf(200, settled(14, 1, 99)), {}, key).words).toBe("1 credit · 99 left")
  })

  test("of a repeated call says that nothing was charged", () => {
    const replayed = responseOf(200, settled(14, 1, 99), { "Idempotency-Replayed": "true" })
    expect(outcomeOf(replayed, counts, key).words).toBe(
      "14 words · nothing charged: this repeats a call that cost 1 credit",
    )
  })
})

describe("a failed call", () => {
  const mail = { label: `Contact ${product.supportEmail}`, href: `mailto:${product.supportEmail}` }

  test.each([
    ["address_not_allowed", { label: "Add your address to this key", href: "/api-keys?change=0197" }],
    ["insufficient_credits", { label: "Add credits", href: "/docs#credits" }],
    ["key_limit_reached", { label: "Raise the spending limit of this key", href: "/api-keys?change=0197" }],
    ["missing_scope", { label: "Create a key with this permission", href: "/api-keys?new" }],
    ["unauthorized", { label: "Create another key", href: "/api-keys?new" }],
    ["rate_limited", { label: "Wait 7 seconds, then run it again." }],
    ["forbidden", mail],
    ["a_code_of_a_team", undefined],
    ["toString", undefined],
  ])("%s has its next step", (code, next) => {
    expect(failure(code, "Why.", { "Retry-After": "7" })).toEqual({
      isGood: false,
      words: "Status 403: Why.",
      next,
      requestId: "r1",
    })
  })

  test("for want of credits leads to the page on which to pay, if the response names one", () => {
    const Link = '<https://shop.example/account/plan>; rel="payment"'
    const next = { label: "Add credits", href: "https://shop.example/account/plan" }
    expect(failure("insufficient_credits", "Why.", { Link }).next).toEqual(next)
  })

  test.each(["127.0.0.1", "2001:db8::1"])("from %s offers to add this address", (address) => {
    const message = `This key does not work from ${address}: its owner has limited it to other addresses.`
    expect(failure("address_not_allowed", message).next?.label).toBe(`Add ${address} to this key`)
  })

  test("without a response says what to do, and has no request to open", () => {
    const lost = outcomeOf(undefined, counts, key)
    expect(lost).toMatchObject({ isGood: false, requestId: null })
    expect(lost.next?.label).toContain("Check your connection")
  })

  test("with a body that is no JSON is not mistaken for a result", () => {
    const response = { status: 502, headers: new Headers(), text: "<html>" }
    expect(outcomeOf(response, counts, key)).toEqual({
      isGood: false,
      words: "Status 502: the call failed",
      next: undefined,
      requestId: null,
    })
  })

  test("has a next step for every error in the documents of the metered call", () => {
    const documented = errorCodes(run.endpoint)
    expect(documented.filter((code) => !failure(code).next)).toEqual([])
  })
})
