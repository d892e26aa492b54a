import { expect, test } from "vitest"
import { z } from "zod"
import { filterOf, groupOf } from "./filter"

test.each(["__proto__", "constructor", "toString"])(
  "the value %s is text like any other that is not offered",
  (value) => {
    const query = new URLSearchParams({ status: value, planId: value })
    expect(filterOf("status", z.enum(["active", "ended"]), query, {}).text).toBe(value)
    const { text, options } = filterOf("planId", z.string(), query, { choices: { planId: { starter: "Starter" } } })
    expect(text).toBe(value)
    expect(Object.keys(options ?? {})).toContain(value)
    expect(Object.values(options ?? {}).every((option) => typeof option === "string")).toBe(true)
  },
)

test("the actions of the audit log are grouped by subject, in plain words", () => {
  const action = z.enum(["user.sign_in_failed", "api_key.issued", "waitlist.invited"])
  const { options, text } = filterOf("action", action, new URLSearchParams({ action: "api_key.issued" }), {})
  expect(options).toEqual({
    "": "Any",
    "user.sign_in_failed": "Sign-in failed",
    "api_key.issued": "Created",
    "waitlist.invited": "Invited",
  })
  expect(Object.keys(options ?? {}).map(groupOf)).toEqual([undefined, "Account", "API key", "Waitlist"])
  expect(text).toBe("API key created")
})
