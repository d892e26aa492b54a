import { randomUUID } from "node:crypto"
import { Pool } from "pg"
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest"
import type { User } from "@/generated/prisma/client"
import { env } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { singletons } from "@/lib/singleton"
import { kinds, type Surface } from "@/lib/surfaces"
import { createKey, createUser, withoutTriggers } from "@/tests/support/factories"
import { whileUncommitted } from "@/tests/support/locks"
import { startMailServer } from "@/tests/support/mail-server"
import { ownerPool, withOptions } from "@/tests/support/owner"
import { receiveEmails } from "@/tests/support/received-emails"
import { isLong } from "@/tests/support/sample"
import { remindOfExpiry } from "./reminders"

const hour = 3_600_000
const day = 24 * hour

/** When each test starts. */
const noon = Date.UTC(2031, 4, 10, 12)

/** Between the rounds of long tests. */
const step = isLong ? 6 * hour : day

// The clock of the database as the tests set it: these connections find this now() before PostgreSQL's own.
const options = "-c search_path=clock,pg_catalog,public"
const instances = Array.from(
  { length: 6 },
  () => new Pool({ connectionString: withOptions(env().DATABASE_URL, options), max: 2 }),
)

const received = receiveEmails()

beforeAll(async () => {
  await ownerPool().query(`
    CREATE SCHEMA clock;
    CREATE TABLE clock.time (at timestamptz);
    INSERT INTO clock.time VALUES (NULL);
    GRANT USAGE ON SCHEMA clock TO PUBLIC;
    GRANT SELECT, UPDATE ON clock.time TO PUBLIC;
    CREATE FUNCTION clock.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM clock.time'`)
})

beforeEach(async () => {
  await pool().query("UPDATE api_keys SET revoked_at = now() WHERE revoked_at IS NULL")
  await pool().query("UPDATE users SET role = 'member'")
  // Faster than TRUNCATE, which makes new files.
  await ownerPool().query("DELETE FROM key_reminders; DELETE FROM key_reminder_days; DELETE FROM key_reminder_progress")
  await roundAt(noon - day)
})

afterAll(() => Promise.all(instances.map((instance) => instance.end())))

async function setClock(time: number): Promise<void> {
  await pool().query("UPDATE clock.time SET at = $1", [new Date(time)])
}

/** Runs a round of one instance when the database's clock shows `time`. @returns the number of emails sent */
async function roundAt(time: number): Promise<number> {
  await setClock(time)
  return remindOfExpiry(instances[0])
}

type Life = { surface?: Surface; lifetime?: number; expires: number } & Partial<Parameters<typeof createKey>[0]>

/** A key that was issued for 90 days, unless for another `lifetime`. */
async function keyOf(user: Pick<User, "id">, { surface = "user", lifetime = 90 * day, expires, ...rest }: Life) {
  const times = { createdAt: new Date(expires - lifetime), expiresAt: new Date(expires) }
  return (await createKey({ user, surface, ...times, ...rest })).key
}

function emailsTo({ email }: Pick<User, "email">): string[] {
  return received.emails.filter((text) => text.includes(`\nTo: ${email}\r\n`))
}

function subjectsTo(user: Pick<User, "email">): string[] {
  return emailsTo(user).map((text) => /^Subject: (.*)$/m.exec(text)?.[1]?.trim() ?? "")
}

test("a key is reminded of 30, 7 and 1 days before its expiry and at it", async () => {
  const user = await createUser()
  const expires = noon + 40 * day
  const key = await keyOf(user, { expires, name: "Nightly report" })
  const sent: number[] = []
  for (let time = noon; time < expires + 3 * day; time += step) {
    if ((await roundAt(time)) > 0) sent.push(time)
  }
  expect(sent.map((time) => (expires - time) / day)).toEqual([30, 7, 1, 0])
  expect(subjectsTo(user)).toHaveLength(4)
  const [first = "", , , last = ""] = emailsTo(user)
  expect(first).toContain(`"Nightly report" (${key.start}…) expires on 19 Jun 2031, 12:00 UTC`)
  expect(last).toContain(`"Nightly report" (${key.start}…) expired on 19 Jun 2031, 12:00 UTC`)
  for (const link of [kinds.user.page, "/docs#keys"]) expect(first).toContain(`${env().BASE_URL}${link}`)
  const records = await db().email.findMany({ where: { userId: user.id } })
  expect(records.map(({ template, status }) => [template, status])).toEqual(
    Array.from({ length: 4 }, () => ["keys_expiring", "sent"]),
  )
})

test.each([
  [60 * day, [30, 7, 1, 0]],
  [60 * day - 1, [7, 1, 0]],
  [30 * day, [7, 1, 0]],
  [14 * day, [7, 1, 0]],
  [14 * day - 1, [1, 0]],
  [2 * day, [1, 0]],
  [2 * day - 1, [0]],
  [hour, [0]],
])("a key that lives for %i ms is reminded of %j days before its expiry", async (lifetime, days) => {
  const user = await createUser()
  const expires = noon + 31 * day
  await keyOf(user, { expires, lifetime })
  for (const ahead of [30, 7, 1, 0]) expect(await roundAt(expires - ahead * day)).toBe(days.includes(ahead) ? 1 : 0)
})

test("keys that do not expire, are revoked or have a successor are not reminded of", async () => {
  const user = await createUser()
  const expires = noon + 8 * day
  const successor = await createKey({ user, surface: "user" })
  await keyOf(user, { expires, revokedAt: new Date() })
  await keyOf(user, { expires, successorId: successor.key.id })
  for (let time = noon; time < expires + day; time += step) expect(await roundAt(time)).toBe(0)
  expect(await db().keyReminder.count()).toBe(0)
})

test("a key that was revoked or replaced after it was queued is left out", async () => {
  const user = await createUser()
  const keys = await Promise.all(
    [1, 2, 3].map((minutes) => keyOf(user, { expires: noon + 7 * day + minutes * 60_000 })),
  )
  await roundAt(noon)
  const [revoked, replaced, kept] = keys
  await pool().query("UPDATE api_keys SET revoked_at = now() WHERE id = $1", [revoked?.id])
  await pool().query("UPDATE api_keys SET successor_id = $2 WHERE id = $1", [replaced?.id, kept?.id])
  expect(await roundAt(noon + hour)).toBe(1)
  const [email = ""] = emailsTo(user)
  expect(keys.map(({ start }) => email.includes(`(${start}…)`))).toEqual([false, false, true])
})

test("if all queued keys have ended, no email is sent, and the next one on the same day is", async () => {
  const user = await createUser()
  const [ended] = [await keyOf(user, { expires: noon + 7 * day + 60_000 })]
  await roundAt(noon)
  await pool().query("UPDATE api_keys SET revoked_at = now() WHERE id = $1", [ended.id])
  expect(await roundAt(noon + 60_000)).toBe(0)
  await keyOf(user, { expires: noon + hour })
  expect(await roundAt(noon + hour)).toBe(1)
  expect(subjectsTo(user)).toHaveLength(1)
})

test("one email lists all keys of a person that reach a threshold on the same day (UTC)", async () => {
  const [user, other] = [await createUser(), await createUser()]
  const midnight = noon + 12 * hour
  const today = await Promise.all([
    keyOf(user, { expires: noon + 7 * day }),
    keyOf(user, { expires: noon + 30 * day + hour }),
    keyOf(user, { expires: midnight + day - 1 }),
    keyOf(user, { expires: noon }),
  ])
  const tomorrow = await keyOf(user, { expires: midnight + 7 * day + 1 })
  await keyOf(other, { expires: noon + 7 * day })
  expect(await roundAt(noon)).toBe(2)
  expect(subjectsTo(user)).toEqual(["4 API keys expire soon"])
  expect(subjectsTo(other)).toHaveLength(1)
  const [email = ""] = emailsTo(user)
  expect([...today, tomorrow].map(({ start }) => email.includes(`(${start}…)`))).toEqual([
    true,
    true,
    true,
    true,
    false,
  ])
  expect(await roundAt(midnight - 1)).toBe(0)
  expect(await roundAt(midnight + 1)).toBe(1)
  expect(emailsTo(user)[1]).toContain(tomorrow.start)
})

test("a key that expires after the email of the day waits for the next day", async () => {
  const user = await createUser()
  const midnight = noon + 12 * hour
  await keyOf(user, { expires: noon + 7 * day })
  const late = await keyOf(user, { expires: noon + hour })
  expect(await roundAt(noon)).toBe(1)
  expect(emailsTo(user)[0]).not.toContain(late.start)
  for (const time of [noon + hour, noon + 2 * hour, midnight - 1]) expect(await roundAt(time)).toBe(0)
  expect(await roundAt(midnight)).toBe(1)
  expect(emailsTo(user)[1]).toContain(`(${late.start}…) expired on`)
})

test.each([
  ["was banned", { status: "banned" }],
  ["was closed", { status: "closed" }],
  ["has lost the role", { role: "support" }],
] as const)("the owners of the service are reminded of an admin key whose owner %s", async (_why, change) => {
  const staff = await createUser({ role: "admin" })
  const owners = [await createUser({ role: "owner" }), await createUser({ role: "owner" })]
  const others = [await createUser({ role: "admin" }), await createUser({ role: "owner", status: "banned" })]
  await keyOf(staff, { surface: "admin", expires: noon + 7 * day })
  await keyOf(staff, { surface: "admin", expires: noon + 30 * day, name: "Export" })
  await db().user.update({ where: { id: staff.id }, data: change })
  expect(await roundAt(noon)).toBe(2)
  for (const owner of owners) {
    expect(subjectsTo(owner)).toEqual(["2 API keys expire soon"])
    expect(emailsTo(owner)[0]).toContain(`"Export" (${kinds.admin.prefix}`)
    expect(emailsTo(owner)[0]).toContain(` of ${staff.email} expires on`)
    expect(emailsTo(owner)[0]).toContain(`${env().BASE_URL}${kinds.admin.page}`)
  }
  expect(await db().keyReminder.count({ where: { userId: { notIn: owners.map(({ id }) => id) } } })).toBe(0)
  for (const user of [staff, ...others]) expect(emailsTo(user)).toEqual([])
})

test("only its owner is reminded of an admin key if they can issue keys; an owner of the service has their own key in the same email", async () => {
  const [owner, staff] = [await createUser({ role: "owner" }), await createUser({ role: "bookkeeper" })]
  const banned = await createUser({ role: "owner", status: "banned" })
  const own = await keyOf(owner, { surface: "user", expires: noon + 7 * day })
  const kept = await keyOf(staff, { surface: "admin", expires: noon + 7 * day })
  const orphan = await keyOf(banned, { surface: "admin", expires: noon + 7 * day })
  expect(await roundAt(noon)).toBe(2)
  const [email = ""] = emailsTo(owner)
  expect([own, kept, orphan].map(({ start }) => email.includes(`(${start}…)`))).toEqual([true, false, true])
  expect(emailsTo(staff)[0]).toContain(kept.start)
})

test("nobody is reminded of a user key whose owner is banned, and its owner not of a key queued before the ban", async () => {
  const [user, late] = [await createUser({ status: "banned" }), await createUser()]
  await createUser({ role: "owner" })
  await keyOf(user, { expires: noon + 7 * day })
  await keyOf(late, { expires: noon + 7 * day + hour })
  expect(await roundAt(noon)).toBe(0)
  await db().user.update({ where: { id: late.id }, data: { status: "banned" } })
  expect(await roundAt(noon + hour)).toBe(0)
})

test("a reminder that the owner of an admin key got is not repeated to the owners of the service when the clock is set back", async () => {
  const staff = await createUser({ role: "admin" })
  await createUser({ role: "owner" })
  await keyOf(staff, { surface: "admin", expires: noon + 7 * day })
  expect(await roundAt(noon)).toBe(1)
  await db().user.update({ where: { id: staff.id }, data: { status: "banned" } })
  await roundAt(noon + 2 * day)
  expect(await roundAt(noon)).toBe(0)
  expect(await roundAt(noon + 6 * day)).toBe(1)
})

test("an owner of the service who is demoted before an email about another's key gets none", async () => {
  const [staff, owner] = [await createUser({ role: "admin", status: "banned" }), await createUser({ role: "owner" })]
  await keyOf(staff, { surface: "admin", expires: noon + 7 * day + hour })
  expect(await roundAt(noon)).toBe(0)
  await db().user.update({ where: { id: owner.id }, data: { role: "admin" } })
  expect(await roundAt(noon + hour)).toBe(0)
})

test("if several thresholds passed while no sweeper ran, only the nearest is sent, and the passed ones never", async () => {
  const user = await createUser()
  const expires = noon + 31 * day
  await keyOf(user, { expires })
  expect(await roundAt(expires - 5 * day)).toBe(1)
  for (let time = expires - 31 * day; time < expires - day; time += step) expect(await roundAt(time)).toBe(0)
  expect(await roundAt(expires - hour)).toBe(1)
  expect(await roundAt(expires)).toBe(0)
  expect(await roundAt(expires + 11 * hour)).toBe(0)
  expect(await roundAt(expires + 12 * hour)).toBe(1)
})

test("a key that expired more than a day ago is not reminded of", async () => {
  const [user, late] = [await createUser(), await createUser()]
  await keyOf(user, { expires: noon + 9 * day })
  await keyOf(late, { expires: noon + 9 * day + 1 })
  expect(await roundAt(noon + 10 * day)).toBe(1)
  expect(emailsTo(user)).toEqual([])
  expect(subjectsTo(late)).toHaveLength(1)
})

test("the first round reminds of no threshold that passed before it, and later ones of the next threshold", async () => {
  await ownerPool().query("TRUNCATE key_reminder_progress")
  const user = await createUser()
  for (const ahead of [0, 1, 2, 7, 20, 30]) await keyOf(user, { expires: noon + ahead * day })
  await keyOf(user, { expires: noon - hour })
  expect(await roundAt(noon)).toBe(0)
  expect(await roundAt(noon + hour)).toBe(0)
  expect(await roundAt(noon + day)).toBe(1)
  // The key with a day left and the key with two.
  expect(subjectsTo(user)).toEqual(["2 API keys expire soon"])
})

test("without a mail server nothing is queued or recorded", async () => {
  const user = await createUser()
  await keyOf(user, { expires: noon + 7 * day })
  const { SMTP_URL } = env()
  delete env().SMTP_URL
  expect(await roundAt(noon)).toBe(0)
  Object.assign(env(), { SMTP_URL })
  expect(await db().email.count({ where: { userId: user.id } })).toBe(0)
  expect(await db().keyReminder.count()).toBe(0)
  expect(await roundAt(noon + hour)).toBe(1)
})

test("six instances that sweep at once send every person one email about every key", async () => {
  const people = await Promise.all(Array.from({ length: 30 }, () => createUser()))
  const owners = [await createUser({ role: "owner" }), await createUser({ role: "owner" })]
  const gone = await createUser({ role: "admin", status: "closed" })
  const expires = noon + 8 * day
  const keys = await Promise.all(
    people.flatMap((user) => [1, 2, 3].map((minute) => keyOf(user, { expires: expires + minute }))),
  )
  const orphans = await Promise.all(
    [1, 2].map((minute) => keyOf(gone, { surface: "admin", expires: expires + minute })),
  )
  for (const ahead of [7, 1]) {
    received.emails.length = 0
    await setClock(expires - ahead * day + 3)
    const sent = await Promise.all([...instances, ...instances].map((instance) => remindOfExpiry(instance)))
    expect(sent.reduce((sum, count) => sum + count, 0)).toBe(people.length + owners.length)
    for (const user of [...people, ...owners]) {
      const own = user.role === "owner" ? orphans : keys.filter(({ userId }) => userId === user.id)
      const [email = "", ...more] = emailsTo(user)
      expect(more).toEqual([])
      for (const { start } of own) expect(email.split(`(${start}…)`)).toHaveLength(2)
    }
  }
})

test("an instance that finds a key while another queues and sends it does not send it again", async () => {
  const user = await createUser()
  const { id } = await keyOf(user, { expires: noon + 7 * day })
  const sentByAnother = "INSERT INTO key_reminders (key_id, user_id, days, send_at, sent_at) VALUES ($1, $2, 7, $3, $3)"
  await setClock(noon)
  const [sent] = await whileUncommitted([sentByAnother, id, user.id, new Date(noon)], () =>
    remindOfExpiry(instances[0]),
  )
  expect(sent).toBe(0)
})

test("instances that find keys of one person one after the other send one email a day", async () => {
  const user = await createUser()
  const keys = await Promise.all(instances.map((_, index) => keyOf(user, { expires: noon + 7 * day + index })))
  await roundAt(noon - 60_000)
  await ownerPool().query("TRUNCATE key_reminders")
  await setClock(noon + 60_000)
  const queue = ({ id }: { id: string }) =>
    pool().query("INSERT INTO key_reminders (key_id, user_id, days, send_at) VALUES ($1, $2, 7, $3)", [
      id,
      user.id,
      new Date(noon),
    ])
  await Promise.all(
    instances.map(async (instance, index) => {
      await queue(keys[index] ?? expect.fail())
      await remindOfExpiry(instance)
    }),
  )
  expect(emailsTo(user)).toHaveLength(1)
  await setClock(noon + day)
  await Promise.all(instances.map((instance) => remindOfExpiry(instance)))
  const told = keys.map(({ start }) => emailsTo(user).filter((email) => email.includes(`(${start}…)`)).length)
  expect(told).toEqual(keys.map(() => 1))
})

test("a clock of the database that jumps ahead and back sends nothing twice, and is followed afterwards", async () => {
  const user = await createUser()
  const [first, second] = [
    await keyOf(user, { expires: noon + 31 * day }),
    await keyOf(user, { expires: noon + 40 * day }),
  ]
  expect(await roundAt(first.expiresAt?.getTime() ?? 0)).toBe(1)
  expect(await roundAt(noon + 365 * day)).toBe(0)
  const sent: number[] = []
  for (let time = noon; time < noon + 45 * day; time += 6 * hour)
    if ((await roundAt(time)) > 0) sent.push((time - noon) / day)
  // The jump has sent the last reminder of the first key, and the 30-day reminder of the second.
  expect(sent).toEqual([33, 39, 40])
  expect(emailsTo(user).filter((email) => email.includes(first.start))).toHaveLength(1)
  expect(emailsTo(user).filter((email) => email.includes(second.start))).toHaveLength(4)
})

test("on the day to which a clock is set back, no reminder is skipped", async () => {
  const [user, other] = [await createUser(), await createUser()]
  expect(await roundAt(noon + 365 * day)).toBe(0)
  await keyOf(user, { expires: noon + 7 * day })
  await keyOf(other, { expires: noon - hour })
  expect(await roundAt(noon)).toBe(2)
})

test("a clock that is set back within the day neither repeats nor skips a reminder", async () => {
  const user = await createUser()
  const expires = noon + 8 * day
  await keyOf(user, { expires })
  expect(await roundAt(expires - 7 * day + hour)).toBe(1)
  for (const minutes of [-90, -60, 0, 30, 60]) expect(await roundAt(expires - 7 * day + minutes * 60_000)).toBe(0)
  expect(await roundAt(expires - day - hour)).toBe(0)
  expect(await roundAt(expires - day - 3 * hour)).toBe(0)
  expect(await roundAt(expires - day)).toBe(1)
})

test.each([-400, 400])(
  "an instance whose own clock is %i days off sends the same emails, and none twice",
  async (days) => {
    const user = await createUser()
    const expires = noon + 8 * day
    await keyOf(user, { expires })
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + days * day })
    try {
      expect(await roundAt(expires - 7 * day - 1)).toBe(0)
      expect(await roundAt(expires - 7 * day)).toBe(1)
    } finally {
      vi.useRealTimers()
    }
    expect(await roundAt(expires - 7 * day + 1)).toBe(0)
    expect(await roundAt(expires - 7 * day + day)).toBe(0)
  },
)

test("more keys than a statement reads, which expire in the same millisecond, are all reminded of, also after a crash among them", async () => {
  const user = await createUser()
  await withoutTriggers(
    `INSERT INTO api_keys (id, user_id, surface, name, start, hash, request_id, created_at, expires_at)
     SELECT gen_random_uuid(), $1, 'user', 'One of many', $4 || lpad(n::text, 4, '0'), sha256(n::text::bytea), gen_random_uuid(), $2, $3
     FROM generate_series(1, 1200) n`,
    [user.id, new Date(noon - 30 * day), new Date(noon + 7 * day), kinds.user.prefix],
  )
  await setClock(noon)
  await dyingAt((text, [, expires]) => text.includes("FROM api_keys") && expires === noon + 7 * day)
  const queued = await db().keyReminder.count()
  expect(queued).toBeGreaterThan(0)
  expect(queued).toBeLessThan(1200)
  expect(await roundAt(noon)).toBe(1)
  expect(subjectsTo(user)).toEqual(["1200 API keys expire soon"])
})

/** A round of an instance that dies before a statement. */
async function dyingAt(isLast: (text: string, values: unknown[]) => boolean): Promise<void> {
  const dying = new Pool({ connectionString: withOptions(env().DATABASE_URL, options) })
  const query = dying.query.bind(dying) as (...args: unknown[]) => unknown
  dying.query = ((text: string, values: unknown[] = []) => {
    if (
      isLast(
        text,
        values.map((value) => (value instanceof Date ? value.getTime() : value)),
      )
    )
      throw new Error("dead")
    return query(text, values)
  }) as Pool["query"]
  await expect(remindOfExpiry(dying)).rejects.toThrow("dead")
  await dying.end()
}

async function withMailServer(url: string, act: () => Promise<void>): Promise<void> {
  const { SMTP_URL } = env()
  Object.assign(env(), { SMTP_URL: url })
  delete singletons.smtp
  try {
    await act()
  } finally {
    Object.assign(env(), { SMTP_URL })
    delete singletons.smtp
  }
}

test("an email that the mail server refuses is sent later, with the keys queued since, and to nobody twice", async () => {
  const [refused, accepted] = [await createUser(), await createUser()]
  const server = await startMailServer({
    refuse: (email) => (email.includes(refused.email) ? "mailbox unavailable" : undefined),
  })
  await keyOf(refused, { expires: noon + 7 * day })
  await keyOf(accepted, { expires: noon + 7 * day })
  await withMailServer(server.url, async () => {
    expect(await roundAt(noon)).toBe(1)
    expect(await roundAt(noon + 9 * 60_000)).toBe(0)
    expect(await roundAt(noon + 10 * 60_000)).toBe(0)
  })
  await server.stop()
  expect(server.emails).toHaveLength(1)
  await keyOf(refused, { expires: noon + 20 * 60_000 })
  expect(await roundAt(noon + 29 * 60_000)).toBe(1)
  expect(await roundAt(noon + day)).toBe(0)
  expect(subjectsTo(refused)).toEqual(["2 API keys expire soon"])
  expect(subjectsTo(accepted)).toEqual([])
})

test("an email that always fails is tried eight times within a day", async () => {
  const user = await createUser()
  await keyOf(user, { expires: noon + 7 * day })
  const server = await startMailServer({ refuse: () => "mailbox unavailable" })
  await withMailServer(server.url, async () => {
    const tries = () => db().email.count({ where: { userId: user.id, status: "failed" } })
    for (let time = noon; time < noon + 2 * hour; time += 10 * 60_000) await roundAt(time)
    expect(await tries()).toBe(4)
    for (let time = noon + 2 * hour; time < noon + 2 * day; time += hour) await roundAt(time)
    expect(await tries()).toBe(8)
  })
  await server.stop()
  // The next threshold is sent.
  expect(await roundAt(noon + 6 * day)).toBe(1)
})

test("while the mail server accepts no connections, a round ends after five emails, and none is lost", async () => {
  const users = await Promise.all(Array.from({ length: 12 }, () => createUser()))
  for (const user of users) await keyOf(user, { expires: noon + 7 * day })
  const attempts = () => db().email.count({ where: { userId: { in: users.map(({ id }) => id) }, status: "failed" } })
  await withMailServer("smtp://127.0.0.1:9", async () => {
    expect(await roundAt(noon)).toBe(0)
    expect(await attempts()).toBe(5)
    expect(await roundAt(noon + 60_000)).toBe(0)
    expect(await attempts()).toBe(10)
  })
  expect(await roundAt(noon + hour)).toBe(12)
  for (const user of users) expect(emailsTo(user)).toHaveLength(1)
})

test("an instance that dies while it sends does not make another send the same email", async () => {
  const user = await createUser()
  await keyOf(user, { expires: noon + 7 * day })
  const mute = await startMailServer({ refuse: () => "the process dies here" })
  await setClock(noon)
  await withMailServer(mute.url, () => dyingAt((text) => text.includes("DELETE FROM key_reminder_days")))
  await mute.stop()
  for (const time of [noon, noon + hour, noon + day]) expect(await roundAt(time)).toBe(0)
  expect(await roundAt(noon + 6 * day)).toBe(1)
})

test("no key's secret and no token is in an email", async () => {
  const user = await createUser()
  const times = { createdAt: new Date(noon - 60 * day), expiresAt: new Date(noon + 7 * day) }
  const { secret } = await createKey({ user, surface: "user", name: randomUUID(), ...times })
  expect(await roundAt(noon)).toBe(1)
  expect(emailsTo(user)[0]).not.toContain(secret)
})
