import { expect, test } from "vitest"
import { errors } from "@/lib/api/errors"
import { meaningOf } from "./failure-meaning"

test.each(Object.keys(errors))("the explanation of %s in the log needs no message of the response", (code) => {
  expect(meaningOf(code)).toMatch(/^[A-Z].*\.$/)
  expect(meaningOf(code)).not.toMatch(/message|`/)
})

test.each(["constructor", "an_endpoints_own"])("the code %s has no explanation", (code) => {
  expect(meaningOf(code)).toBeUndefined()
})
