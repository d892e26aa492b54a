import { afterEach, expect, test } from "vitest"
import { env } from "@/lib/env"
import { singletons } from "@/lib/singleton"
import { addingCredits } from "./top-up"

afterEach(() => {
  delete singletons.env
})

test("where nothing sells, credits are added as the documents say", () => {
  expect(addingCredits()).toEqual({
    href: "/docs#credits",
    label: "How to add credits",
    url: `${env().BASE_URL}/docs#credits`,
  })
})
