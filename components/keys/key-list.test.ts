import { expect, test } from "vitest"
import { listedKey, predecessorOf } from "@/tests/support/listed-key"
import { rowsOf } from "./key-list"

const idsOf = (keys: Parameters<typeof rowsOf>[0]) => {
  const { rows, ended } = rowsOf(keys)
  return { rows: rows.map(({ id }) => id), ended: ended.map(({ id }) => id) }
}

const replaced = listedKey({ id: "old", isReplaced: true })

test("a replaced key is part of its successor's row while it works", () => {
  const successor = listedKey({ id: "new", predecessor: predecessorOf(replaced) })
  expect(idsOf([successor, replaced])).toEqual({ rows: ["new"], ended: [] })
})

test("a replaced key is a row of its own once its successor is revoked", () => {
  const successor = listedKey({ id: "new", predecessor: predecessorOf(replaced), state: "revoked" })
  expect(idsOf([replaced, successor])).toEqual({ rows: ["old"], ended: ["new"] })
})

test("a replaced key is a row of its own when its successor is not in the list", () => {
  expect(idsOf([replaced])).toEqual({ rows: ["old"], ended: [] })
})

test("keys that are revoked, and replaced keys that have expired, have ended; other expired keys stay", () => {
  const keys = [
    listedKey({ id: "active" }),
    listedKey({ id: "expired", state: "expired" }),
    listedKey({ id: "replaced", state: "expired", isReplaced: true }),
    listedKey({ id: "revoked", state: "revoked" }),
  ]
  expect(idsOf(keys)).toEqual({ rows: ["active", "expired"], ended: ["replaced", "revoked"] })
})
