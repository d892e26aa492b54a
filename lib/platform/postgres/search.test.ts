import { randomUUID } from "node:crypto"
import fc from "fast-check"
import { beforeAll, expect, test, vi } from "vitest"
import { plainPunctuation, spellingsOf } from "@/lib/platform/text/typed-punctuation"
import { kinds } from "@/lib/surfaces"
import { createKey, createOrder, createUser, withoutTriggers } from "@/tests/support/factories"
import { ownerPool } from "@/tests/support/owner"
import { isLong } from "@/tests/support/sample"
import { pool } from "./pool"
import { maxMatches, type Searched, search } from "./search"

const users: Searched = { table: "users", account: "id" }
const orders: Searched = { table: "orders", account: "userId" }
const emails: Searched = { table: "emails", account: "userId", text: '"to"' }
const waitlist: Searched = { table: "waitlist_entries", text: "email" }
const keys: Searched = { table: "api_keys", text: "name", start: "start" }

const names = [
  ...["Zoë Müller", "zoe muller", "ZOÉ MÜLLER-ÅSTRÖM", "José García", "Tomáš Novák", "Łukasz Ćwikła", "Nguyễn Thị Ánh"],
  ...[
    "Straße & Söhne",
    "STRASSE",
    "İstanbul Işık",
    "istanbul isik",
    "ﬁnance Oﬃce",
    "Ｆｕｌｌｗｉｄｔｈ",
    "ΟΔΥΣΣΕΥΣ",
    "Οδυσσεύς",
  ],
  ...[
    "Фёдор Достоевский",
    "ФЕДОР",
    "Йосип",
    "王小明",
    "王小明明",
    "山田 太郎",
    "ガギグゲゴ",
    "カキクケコ",
    "김민수",
    "김민수민",
  ],
  ...[
    "מרים לוי",
    "محمد علي",
    "नरेन्द्र मोदी",
    "ไทยแลนด์",
    "👩‍🚀 Astronaut",
    "a%b_c\\d",
    "O'Brien; DROP",
    "Conan O’Brien-O´Neil",
    "O`Hi Li‑Wu",
    "Jean–Luc  Picard",
    "“Blue\u00A0—  Sky” Ltd",
    "50% off_",
    "...",
    "  spaced  out  ",
  ],
]

type Account = { id: string; name: string; email: string }
const accounts: Account[] = []

beforeAll(async () => {
  for (const name of names) accounts.push(await createUser({ name }))
})

/** The folding of the database, in JavaScript. */
function folded(text: string): string {
  return plainPunctuation(foldedLetters(plainPunctuation(text)))
}

function foldedLetters(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/[\u0300-\u036f]/g, "")
    .normalize("NFC")
    .toUpperCase()
}

function expected(text: string): string[] {
  const wanted = folded(text)
  return accounts.filter((one) => [one.name, one.email].some((has) => folded(has).includes(wanted))).map(({ id }) => id)
}

/** With the spelling of punctuation that is at this place in the table. */
function spelledOtherwise(text: string, place: number): string {
  return Array.from(plainPunctuation(text), (one) => spellingsOf[one]?.[place] ?? one).join("")
}

async function found(searched: Searched, value: string, kind: "id" | "key" | "text" = "text") {
  return (await search(searched, { kind, value }))?.sort()
}

test("a part of a name or an address, in any script, case and accents, finds the accounts that a plain filter finds", async () => {
  const part = fc.constantFrom(...accounts.flatMap(({ name, email }) => [name, email])).chain((text) => {
    const characters = [...text]
    return fc
      .tuple(fc.nat(Math.max(0, characters.length - 3)), fc.integer({ min: 3, max: 12 }))
      .map(([from, length]) => characters.slice(from, from + length).join(""))
  })
  const spelling = fc.constantFrom<((text: string) => string)[]>(
    (text) => text,
    (text) => text.toUpperCase(),
    (text) => text.toLowerCase(),
    (text) => text.normalize("NFD"),
    (text) => text.normalize("NFKC"),
    (text) => folded(text),
    (text) => text.replaceAll(" ", "  "),
    ...[0, 1, 2, 3].map((place) => (text: string) => spelledOtherwise(text, place)),
  )
  await fc.assert(
    fc.asyncProperty(part, spelling, async (text, spell) => {
      const value = spell(text)
      if ([...folded(value)].length < 3) return
      expect(await found(users, value), JSON.stringify(value)).toEqual(expected(value).sort())
    }),
    { numRuns: isLong ? 400 : 150 },
  )
})

test.each([
  ["müller", 3],
  ["MULLER", 3],
  ["strasse", 2],
  ["οδυσσεύς", 2],
  ["οδυσσευσ", 2],
  ["федор", 2],
  ["王小明", 2],
  ["小明明", 1],
  ["민수민", 1],
  ["ガギグ", 1],
  ["finance", 1],
  ["fullwidth", 1],
  ["50%", 1],
  ["%%%", 0],
  ["b_c", 1],
  ["bxc", 0],
  ["c\\d", 1],
  ["nobody here", 0],
  ["O'Brien", 2],
  ["o’brien", 2],
  ["O`BRIEN-o'neil", 1],
  ["o'h", 1],
  ["Li-W", 1],
  ["i–w", 1],
  ["n-l", 1],
  ["jean-luc picard", 1],
  ["Jean—Luc   Picard", 1],
  ['"Blue - Sky" ltd', 1],
  ["e – S", 1],
  ["---", 0],
])("%s is found in %i names", async (value, count) => {
  const ids = await found(users, value)
  expect(ids).toHaveLength(count)
  expect(ids).toEqual(expected(value).sort())
})

test.each([
  [waitlist, "text", "O’Brien", "waitlist_entries_searched"],
  [waitlist, "text", "o'h", "waitlist_entries_searched"],
  [waitlist, "text", "- s", "waitlist_entries_searched"],
  [waitlist, "text", "王小明", "waitlist_entries_searched"],
  [keys, "text", "Shop backend", "api_keys_searched"],
  [keys, "key", `${kinds.user.prefix}ab`, "api_keys_start_user_id_idx"],
] as const)("the search of %o for the %s %s reads the index %s", async (searched, kind, value, index) => {
  const asked = vi.spyOn(pool(), "query")
  await search(searched, { kind, value })
  const [statement, parameters] = asked.mock.calls.at(-1) as unknown as [string, unknown[]]
  asked.mockRestore()
  if (kind === "text") expect(parameters[1]).not.toEqual([])
  const client = await ownerPool().connect()
  try {
    await client.query("BEGIN; SET LOCAL enable_seqscan = off")
    const { rows } = await client.query(`EXPLAIN ${statement}`, parameters)
    expect(JSON.stringify(rows)).toContain(index)
  } finally {
    client.release(true)
  }
})

test("a text does not match across the end of a name and the start of an address", async () => {
  const [{ name, email }] = accounts as [Account]
  expect(await found(users, `${name.slice(-2)} ${email.slice(0, 3)}`)).toEqual([])
  expect(await found(users, `${name.slice(-2)}${email.slice(0, 3)}`)).toEqual([])
})

test("rows are found by their account's name, address, id and keys, and by their own id", async () => {
  const name = `Searched ${randomUUID()}`
  const [user, other] = [await createUser({ name }), await createUser()]
  const ids = [(await createOrder({ userId: user.id })).id, (await createOrder({ userId: user.id })).id].sort()
  const { id: otherOrder } = await createOrder({ userId: other.id })
  const { key } = await createKey({ user, surface: "user" })
  expect(await found(orders, name.slice(4))).toEqual(ids)
  expect(await found(orders, user.email.slice(2, 30).toUpperCase())).toEqual(ids)
  expect(await found(orders, user.id, "id")).toEqual(ids)
  expect(await found(orders, ids[0] ?? "", "id")).toEqual([ids[0]])
  expect(await found(orders, key.start, "key")).toEqual(ids)
  expect(await found(users, key.start, "key")).toEqual([user.id])
  expect(await found(users, key.start.slice(0, -1), "key")).toContain(user.id)
  expect(await found(users, user.id, "id")).toEqual([user.id])
  expect(await found(orders, otherOrder, "id")).toEqual([otherOrder])
  expect(await found(orders, randomUUID(), "id")).toEqual([])
})

test("emails are found by the address that they were sent to and by their account; waitlist entries by their address", async () => {
  const user = await createUser({ name: `Recipient ${randomUUID()}` })
  const former = `former-${randomUUID()}@example.com`
  const insert = (userId: string | null, to: string) =>
    pool().query<{ id: string }>(
      `INSERT INTO emails (id, user_id, "to", template, subject, status) VALUES (gen_random_uuid(), $1, $2, 'welcome', 'x', 'not_sent') RETURNING id`,
      [userId, to],
    )
  const [own] = (await insert(user.id, former)).rows as [{ id: string }]
  const [foreign] = (await insert(null, former)).rows as [{ id: string }]
  expect(await found(emails, former.slice(3, 30))).toEqual([own.id, foreign.id].sort())
  expect(await found(emails, user.name)).toEqual([own.id])
  expect(await found(emails, foreign.id, "id")).toEqual([foreign.id])
  const { rows } = await pool().query<{ id: string }>(
    "INSERT INTO waitlist_entries (id, email, source) VALUES (gen_random_uuid(), $1, 'x') RETURNING id",
    [former],
  )
  expect(await found(waitlist, former.slice(3, 30))).toEqual([rows[0]?.id])
  expect(await found(waitlist, `${kinds.user.prefix}abcd`, "key")).toEqual([])
})

test("a search with more matches than a list can read finds none of them", async () => {
  const name = "One of many"
  const insert = (first: number, last: number) =>
    withoutTriggers(
      `INSERT INTO users (id, email, name)
       SELECT gen_random_uuid(), n || '@many.example', $1 FROM generate_series($2::int, $3::int) n`,
      [name, first, last],
    )
  await insert(1, maxMatches)
  expect(await found(users, name)).toHaveLength(maxMatches)
  expect(await found(orders, name)).toEqual([])
  await insert(maxMatches + 1, maxMatches + 1)
  expect(await found(users, name)).toBeUndefined()
  expect(await found(orders, name)).toBeUndefined()
})
