import { afterEach, expect, test } from "vitest"
import { POST } from "@/app/api/v1/me/run/route"
import { demoPayments, env } from "@/lib/env"
import { singletons } from "@/lib/singleton"
import { addingCredits } from "@/lib/top-up"
import { createKey, createUser } from "@/tests/support/factories"
import { work } from "@/tests/support/work"
import { topUp } from "./top-up"

afterEach(() => {
  delete singletons.env
})

test("where plans and packs are sold, pages, emails and responses lead to the page that sells them", () => {
  Object.assign(env(), demoPayments)
  expect(topUp()).toEqual({ href: "/account/plan", label: "Add credits" })
  expect(addingCredits().url).toBe(`${env().BASE_URL}/account/plan`)
})

test("a call without credits is refused with the page on which to pay, in the message and as a link", async () => {
  Object.assign(env(), demoPayments)
  const { secret } = await createKey({ user: await createUser(), surface: "user" })
  const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" }
  const response = await POST(
    new Request(`http://localhost:3000${work.path}`, { method: "POST", headers, body: work.body }),
  )
  const page = `${env().BASE_URL}/account/plan`
  expect([response.status, response.headers.get("link")]).toEqual([402, `<${page}>; rel="payment"`])
  const { error } = await response.json()
  expect(Object.keys(error)).toEqual(["code", "message"])
  expect(error.message).toMatch(new RegExp(`\\. Add credits: ${page}$`))
})
