import { expect, test } from "vitest"
import { z } from "zod"
import { keyPrefixes } from "@/lib/product"
import { requestIdAt, requestIdFrom, timeOfRequestId } from "./request-id"

test("an id is a UUIDv7 of its time, to the millisecond, and differs from others of that time", () => {
  for (const ms of [0, 1, Date.parse("2026-11-27T12:34:56.789Z"), 2 ** 47]) {
    const [id, other] = [requestIdAt(ms), requestIdAt(ms)]
    expect(z.uuidv7().parse(id)).not.toBe(other)
    expect(timeOfRequestId(id)?.getTime()).toBe(ms)
    expect(id.slice(0, 13)).toBe(other.slice(0, 13))
  }
})

test("an id of another kind has no time", () => {
  for (const id of ["order-4711", crypto.randomUUID(), requestIdAt(1).toUpperCase().replace(/0/g, "g")]) {
    expect(timeOfRequestId(id)).toBeUndefined()
  }
})

test("an id of the client is kept unless it is malformed or begins like a secret", () => {
  expect(requestIdFrom("order-4711")).toBe("order-4711")
  const secrets = ["ghp_abcdefgh", "sk_live_abc", "AKIAIOSFODNN7EXAMPLE", "eyJhbGciOiJIUzI1NiJ9"]
  for (const given of [null, "", "short", "two words", "x".repeat(65), `${keyPrefixes.user[0]}12345678`, ...secrets]) {
    expect(requestIdFrom(given, "made")).toBe("made")
  }
})
