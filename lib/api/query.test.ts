import { expect, test } from "vitest"
import { z } from "zod"
import { product } from "@/lib/product"
import { kinds } from "@/lib/surfaces"
import { encodeCursor, listParameters, sharedParameters, sortParameter, time } from "./parameters"
import { parseListQuery } from "./query"

const row = z.object({ id: z.uuid(), balance: z.int(), name: z.string(), createdAt: z.string() })
const filters = { status: z.enum(["active", "banned"]), userId: z.uuid() }
const ranges = { paidSince: time(false), paidUntil: time(true) }

function parse(search: string) {
  return parseListQuery(search, { ...sharedParameters, ...filters }, row)
}

function parseWithSort(search: string) {
  return parseListQuery(search, { ...listParameters(row), ...ranges, sort: sortParameter(["balance", "name"]) }, row)
}

function refusal(search: string, parser: (search: string) => unknown = parse): string {
  try {
    parser(search)
  } catch (error) {
    expect(error).toMatchObject({ status: 400, code: "bad_request" })
    return (error as Error).message
  }
  throw new Error(`accepted: ${search}`)
}

test("a query without parameters returns the newest 100 rows", () => {
  expect(parse("")).toEqual({ page: { limit: 100, offset: 0, order: "desc" }, where: {} })
})

test.each([
  "0",
  "-1",
  "501",
  "1e2",
  "0x10",
  "1.0",
  "%2B5",
  "%205",
  "5%20",
  "１０",
  "",
  "NaN",
  "null",
  "05",
  "9".repeat(400),
])("limit=%s is refused, and the message states the accepted range", (value) => {
  expect(refusal(`limit=${value}`)).toMatch(/^limit must be an integer from 1 to 500, got "/)
})

test("limit accepts 1 and 500", () => {
  expect(parse("limit=1").page.limit).toBe(1)
  expect(parse("limit=500").page.limit).toBe(500)
})

test.each(["-1", "-0", "1.5", "abc", "2147483648", "4294967296", "9007199254740993", "1e308"])(
  "offset=%s is refused",
  (value) => {
    expect(refusal(`offset=${value}`)).toContain("offset must be an integer from 0 to 2147483647")
  },
)

test("offset accepts the largest signed 32-bit integer", () => {
  expect(parse("offset=2147483647").page.offset).toBe(2147483647)
})

test.each([
  "2024-02-30",
  "2024-13-01",
  "2023-02-29",
  "2024-01-01T24:00:00Z",
  "2024-01-01T00:00:60Z",
  "2024-01-01T00:00:00%2B25:00",
  "2024-01-01T00:00:00",
  "2024-W01",
  "01/02/2024",
  "Jan 1",
  "(x) 2024",
  "tomorrow",
  "0000-01-01",
  "-000001-01-01",
  "%2B010000-01-01",
  "-62135596800001",
  "253402300800000",
  "8640000000000001",
  "1".repeat(30),
  "1e3",
])("since=%s is not a valid time", (value) => {
  expect(refusal(`since=${value}`)).toMatch(/^since must be a date .* got "/)
})

test.each([
  ["2025", "1970-01-01T00:00:02.025Z in epoch milliseconds; write a year as 2025-01-01"],
  ["1767225600", "1970-01-21T10:53:45.600Z in epoch milliseconds; for a time in epoch seconds send 1767225600000"],
  ["5", "too early as a time in epoch milliseconds; send a date"],
])("a time %s is refused with the probable intention", (value, message) => {
  for (const name of ["since", "until"])
    expect(refusal(`${name}=${value}`)).toBe(`${name} is ${message}, got "${value}".`)
})

test.each([
  ["2024-01-01", "2024-01-01T00:00:00.000Z"],
  ["2024-02-29", "2024-02-29T00:00:00.000Z"],
  ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000Z"],
  ["2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00.500Z"],
  ["2024-01-01T00:00:00%2B02:00", "2023-12-31T22:00:00.000Z"],
  ["1700000000000", "2023-11-14T22:13:20.000Z"],
  ["0", "1970-01-01T00:00:00.000Z"],
  ["1970-01-01", "1970-01-01T00:00:00.000Z"],
  ["-1", "1969-12-31T23:59:59.999Z"],
  ["-62135596800000", "0001-01-01T00:00:00.000Z"],
])("since=%s is parsed as %s", (value, expected) => {
  expect(parse(`since=${value}`).page.since?.toISOString()).toBe(expected)
})

test("a plain date in until includes the whole day", () => {
  const { since, until } = parse("since=2026-01-01&until=2026-01-31").page
  expect([since?.toISOString(), until?.toISOString()]).toEqual(["2026-01-01T00:00:00.000Z", "2026-01-31T23:59:59.999Z"])
})

test("since may equal until, and must not be later", () => {
  const moment = Date.UTC(2026, 0, 1)
  expect(parse(`since=${moment}&until=${moment}`).page).toMatchObject({
    since: new Date(moment),
    until: new Date(moment),
  })
  expect(refusal("since=2026-02-01&until=2026-01-31")).toBe("since must not be later than until.")
})

test("the bounds of each range are inclusive, and must be in order", () => {
  expect(parseWithSort("paidSince=2026-01-01&paidUntil=2026-01-01").where).toEqual({
    paidSince: new Date("2026-01-01T00:00:00.000Z"),
    paidUntil: new Date("2026-01-01T23:59:59.999Z"),
  })
  const reversed = "since=2026-01-01&paidSince=2026-02-01&paidUntil=2026-01-31"
  expect(refusal(reversed, parseWithSort)).toBe("paidSince must not be later than paidUntil.")
  expect(parseWithSort("since=2026-02-01&paidUntil=2026-01-31").page.since).toEqual(new Date("2026-02-01"))
})

test("fields are the named ones in their order, each once", () => {
  expect(parseWithSort("fields=name,balance,name").page.fields).toEqual(["name", "balance"])
  expect(parseWithSort("fields=name,id,balance").page.fields).toEqual(["name", "id", "balance"])
  expect(parseWithSort("fields=id").page.fields).toEqual(["id"])
  for (const value of ["", "colour", "name,", "name,colour", "Name", "name%20", "__proto__"]) {
    expect(refusal(`fields=${value}`, parseWithSort)).toMatch(
      /^fields must be names of fields, separated by commas: id, balance, name, createdAt, got "/,
    )
  }
})

test("an unescaped plus sign, decoded as a space, is explained in the message", () => {
  expect(refusal("since=2024-01-01T00:00:00+02:00")).toContain("a + in a query must be sent as %2B")
})

test("unknown and repeated parameters are refused by name, with the accepted ones", () => {
  const accepted = "Accepted: limit, offset, since, until, order, cursor, fields, status, userId."
  expect(refusal("colour=red")).toBe(`Unknown parameter "colour". ${accepted}`)
  expect(refusal("limit[]=1")).toContain('Unknown parameter "limit[]"')
  expect(refusal("__proto__=1")).toContain('Unknown parameter "__proto__"')
  expect(refusal("limit=1&limit=2")).toBe("limit is given more than once.")
  expect(refusal(Array.from({ length: 51 }, (_, index) => `p${index}=1`).join("&"))).toContain("at most 50 parameters")
})

test.each(["__proto__", "constructor", "toString", "ACTIVE", "active' OR '1'='1", ""])(
  "status=%s is not an accepted value",
  (value) => {
    expect(refusal(`status=${encodeURIComponent(value)}`)).toMatch(/^status must be one of active, banned, got "/)
  },
)

test.each(["%00", "%ff", "%ED%A0%80", "active%00"])("status=%s is not valid text", (value) => {
  expect(refusal(`status=${value}`)).toBe("status is not valid UTF-8 text.")
})

test("filters are parsed into where", () => {
  const userId = "0199c0de-0000-7000-8000-000000000001"
  expect(parse(`status=banned&userId=${userId}`).where).toEqual({ status: "banned", userId })
  expect(refusal("userId=42")).toBe('userId must be a UUID, got "42".')
})

test("an API key in the query is masked in the error message", () => {
  expect(refusal(`limit=${kinds.user.prefix}abcdefghijk`)).toBe(
    `limit must be an integer from 1 to 500, got "${product.slug}_…".`,
  )
  expect(refusal(`${kinds.admin.prefix}abcdefghijk=1`)).not.toContain("abcdefghijk")
})

test("a cursor restores the position and the order of its list", () => {
  const position = { value: new Date(1700000000123), id: "0199c0de-0000-7000-8000-000000000001" }
  expect(parse(`cursor=${encodeCursor("asc", position)}`).page).toEqual({
    limit: 100,
    offset: 0,
    order: "asc",
    after: position,
  })
  expect(refusal(`cursor=${encodeCursor("asc", position)}&order=desc`)).toBe("cursor was issued for order=asc.")
  expect(refusal(`cursor=${encodeCursor("asc", position)}&offset=0`)).toBe("Send either cursor or offset, not both.")
})

test.each([
  "x",
  "",
  Buffer.from("asc 1 not-a-uuid").toString("base64url"),
  Buffer.from("up 1 0199c0de-0000-7000-8000-000000000001").toString("base64url"),
  Buffer.from("asc 1e9 0199c0de-0000-7000-8000-000000000001").toString("base64url"),
  Buffer.from("asc 999999999999999 0199c0de-0000-7000-8000-000000000001").toString("base64url"),
])("cursor=%s is not a cursor of this API", (value) => {
  expect(refusal(`cursor=${value}`)).toContain("cursor must be the meta.nextCursor of an earlier response")
})

test("a cursor of the release before, which knew no sort, still restores its position", () => {
  const cursor = Buffer.from("desc 1700000000123 0199c0de-0000-7000-8000-000000000001").toString("base64url")
  const position = { value: new Date(1700000000123), id: "0199c0de-0000-7000-8000-000000000001" }
  expect(encodeCursor("desc", position)).toBe(cursor)
  for (const parser of [parse, parseWithSort]) {
    expect(parser(`cursor=${cursor}`).page).toEqual({ limit: 100, offset: 0, order: "desc", after: position })
  }
})

test.each(["Zoë Müller-Łódź \u2028 王", "", " a  b ", "a".repeat(300), '"{}\\'])(
  "a cursor restores the field by which its list is sorted, and its value %j",
  (name) => {
    const position = { value: name, id: "0199c0de-0000-7000-8000-000000000001" }
    const cursor = encodeCursor("asc", position, "name")
    const page = { limit: 100, offset: 0, order: "asc", sort: "name", after: position }
    expect(parseWithSort(`cursor=${cursor}`).page).toEqual(page)
    expect(parseWithSort(`cursor=${cursor}&sort=name&order=asc`).page).toEqual(page)
    expect(refusal(`cursor=${cursor}&sort=balance`, parseWithSort)).toBe("cursor was issued for sort=name.")
    expect(refusal(`cursor=${cursor}&sort=createdAt`, parseWithSort)).toBe("cursor was issued for sort=name.")
    expect(refusal(`cursor=${cursor}`)).toContain("must be the meta.nextCursor of an earlier response")
  },
)

test("a cursor by createdAt is refused with another sort, whose name the message contains", () => {
  const cursor = encodeCursor("asc", { value: new Date(1), id: "0199c0de-0000-7000-8000-000000000001" })
  expect(refusal(`cursor=${cursor}&sort=name`, parseWithSort)).toBe("cursor was issued for sort=createdAt.")
  expect(parseWithSort(`cursor=${cursor}&sort=createdAt`).page.sort).toBeUndefined()
})

test.each([
  ['name %s "\\ud800"'],
  ['name %s "\\u0000"'],
  ["name %s 5"],
  ["name %s x"],
  ['balance %s "5"'],
  ["balance %s 1e300"],
  ["balance %s 1.5"],
  ["balance %s null"],
  ["balance not-a-uuid 5"],
  ["id %s 5"],
  ["constructor %s 5"],
])("a cursor with the place %s is not a cursor of this API", (place) => {
  const text = `asc ${place.replace("%s", "0199c0de-0000-7000-8000-000000000001")}`
  const cursor = Buffer.from(text).toString("base64url")
  expect(refusal(`cursor=${cursor}`, parseWithSort)).toContain("must be the meta.nextCursor of an earlier response")
})
