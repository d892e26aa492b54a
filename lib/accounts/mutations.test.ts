import { randomUUID } from "node:crypto"
import { describe, expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { type Permission, type Role, roleNames, roles } from "@/lib/permissions"
import { db } from "@/lib/platform/postgres/prisma"
import { createUser } from "@/tests/support/factories"
import { whileUncommitted } from "@/tests/support/locks"
import { changeRole, changeStatus, type StatusChange } from "./mutations"

// A custom role that manages accounts but has fewer permissions than admin.
Object.assign(roles, { moderator: ["users.read", "users.manage"] satisfies Permission[] })
const moderator = "moderator" as Role

async function as(role: Role): Promise<OwnerId> {
  return (await createUser({ role })).id as OwnerId
}

async function standing(id: string) {
  const { role, status } = await db().user.findUniqueOrThrow({ where: { id } })
  return [role, status]
}

function auditOf(targetId: string) {
  return db().auditEntry.findMany({
    where: { targetId },
    orderBy: { createdAt: "asc" },
    select: { actorId: true, action: true, targetType: true, details: true },
  })
}

const account = expect.objectContaining({ id: expect.any(String), email: expect.any(String) })
const done = { ok: true, changed: true, account }
const unchanged = { ok: true, changed: false, account }
const refused = (reason: string) => ({ ok: false, reason })

test("a ban, an unban and a closure each write one audit entry with actor, old status, new status and reason", async () => {
  const [actor, target] = [await as("admin"), await as("member")]
  expect(await changeStatus("ban", actor, target, "Sent spam")).toEqual(done)
  expect(await changeStatus("ban", actor, target, "Again")).toEqual(unchanged)
  expect(await standing(target)).toEqual(["member", "banned"])
  expect(await changeStatus("unban", actor, target, null)).toEqual(done)
  expect(await changeStatus("unban", actor, target, null)).toEqual(unchanged)
  expect(await standing(target)).toEqual(["member", "active"])
  expect(await changeStatus("close", actor, target, null)).toEqual(done)
  expect(await changeStatus("close", actor, target, null)).toEqual(unchanged)
  expect(await standing(target)).toEqual(["member", "closed"])
  const entry = { actorId: actor, targetType: "user" }
  expect(await auditOf(target)).toEqual([
    { ...entry, action: "user.banned", details: { from: "active", to: "banned", reason: "Sent spam" } },
    { ...entry, action: "user.unbanned", details: { from: "banned", to: "active" } },
    { ...entry, action: "user.closed", details: { from: "active", to: "closed" } },
  ])
})

test("a role change writes one audit entry with actor, old role and new role", async () => {
  const [actor, target] = [await as("admin"), await as("member")]
  expect(await changeRole(actor, target, "support")).toEqual(done)
  expect(await changeRole(actor, target, "support")).toEqual(unchanged)
  expect(await auditOf(target)).toEqual([
    {
      actorId: actor,
      action: "user.role_changed",
      targetType: "user",
      details: { from: "member", to: "support" },
    },
  ])
})

test("two concurrent bans of one account apply once", async () => {
  const target = await as("member")
  const results = await Promise.all([
    changeStatus("ban", await as("admin"), target, null),
    changeStatus("ban", await as("admin"), target, null),
  ])
  expect(results).toContainEqual(done)
  expect(results).toContainEqual(unchanged)
  expect(await auditOf(target)).toHaveLength(1)
})

test("an account whose erasure has started stays banned", async () => {
  const [actor, target] = [await as("admin"), await as("member")]
  await changeStatus("ban", actor, target, null)
  const deletion = { userId: target, requestedById: actor, dueAt: new Date(), undoable: false }
  await db().accountDeletion.create({ data: { ...deletion, startedAt: new Date() } })
  expect(await changeStatus("unban", actor, target, null)).toEqual(refused("leaving"))
  expect(await standing(target)).toEqual(["member", "banned"])
  expect(await auditOf(target)).toHaveLength(1)
})

test("a banned account can be closed; a closed account cannot be changed", async () => {
  const actor = await as("admin")
  const closed = await createUser({ status: "closed" })
  expect(await changeStatus("ban", actor, closed.id, null)).toEqual(refused("closed"))
  expect(await changeStatus("unban", actor, closed.id, null)).toEqual(refused("closed"))
  expect(await changeRole(actor, closed.id, "support")).toEqual(refused("closed"))
  const banned = await createUser({ status: "banned" })
  expect(await changeStatus("close", actor, banned.id, null)).toEqual(done)
  expect(await standing(banned.id)).toEqual(["member", "closed"])
})

type ActionCase = (actor: OwnerId, target: string) => Promise<unknown>

const actionCases: [string, ActionCase][] = [
  ...(["ban", "unban", "close"] satisfies StatusChange[]).map((verb): [string, ActionCase] => [
    verb,
    (actor, target) => changeStatus(verb, actor, target, null),
  ]),
  ["change the role of", (actor, target) => changeRole(actor, target, "support")],
]

describe.each(actionCases)("%s an account", (_what, act) => {
  test("requires an active actor with users.manage", async () => {
    const target = await as("member")
    for (const role of ["analyst", "support", "finance", "bookkeeper", "member"] as const) {
      expect(await act(await as(role), target)).toEqual(refused("not_permitted"))
    }
    const banned = await createUser({ role: "owner", status: "banned" })
    expect(await act(banned.id as OwnerId, target)).toEqual(refused("not_permitted"))
    expect(await act(randomUUID() as OwnerId, target)).toEqual(refused("not_permitted"))
    expect(await standing(target)).toEqual(["member", "active"])
    expect(await auditOf(target)).toEqual([])
  })

  test("is refused on the actor's own account", async () => {
    const owner = await as("owner")
    expect(await act(owner, owner)).toEqual(refused("oneself"))
    expect(await standing(owner)).toEqual(["owner", "active"])
  })

  test.each<[Role, Role]>([
    ["admin", "owner"],
    ["admin", "admin"],
    [moderator, "admin"],
    [moderator, "finance"],
    [moderator, moderator],
  ])("is refused to %s for an account with the role %s", async (actor, role) => {
    const target = await as(role)
    expect(await act(await as(actor), target)).toEqual(refused("beyond_actor"))
    expect(await standing(target)).toEqual([role, "active"])
  })

  test.each<[Role, Role]>([
    ["owner", "owner"],
    ["owner", "admin"],
    ["admin", "analyst"],
    ["admin", moderator],
    ["admin", "member"],
  ])("is permitted to %s for an account with the role %s", async (actor, role) => {
    expect(await act(await as(actor), await as(role))).toMatchObject({ ok: true })
  })

  test("returns not_found for an unknown account", async () => {
    expect(await act(await as("admin"), randomUUID())).toEqual(refused("not_found"))
  })
})

test("only owners give their own role; everyone else gives roles with fewer permissions than their own", async () => {
  const given: Record<string, string[]> = {}
  for (const actor of ["owner", "admin", moderator] as const) {
    const id = await as(actor)
    given[actor] = []
    for (const role of roleNames) {
      const result = await changeRole(id, await createUser({ role: "bookkeeper" }).then(({ id }) => id), role)
      if (result.ok) given[actor].push(role)
      else expect(result).toEqual(refused(actor === moderator ? "beyond_actor" : "role_beyond_actor"))
    }
  }
  expect(given).toEqual({
    owner: roleNames,
    admin: ["analyst", "support", "finance", "bookkeeper", "member"],
    moderator: [],
  })
})

test.each(Array.from({ length: 8 }, (_, round) => round))(
  "of owners who demote each other concurrently one remains (round %i)",
  async () => {
    const owners = [await as("owner"), await as("owner"), await as("owner")] as const
    const results = await Promise.all(
      owners.map((owner, index) => changeRole(owner, owners[(index + 1) % owners.length] ?? owner, "member")),
    )
    expect(results).toContainEqual(done)
    expect(results).toContainEqual(refused("not_permitted"))
    const roles = await Promise.all(owners.map(async (owner) => (await standing(owner))[0]))
    expect(roles).toContain("owner")
  },
)

test("an actor who is demoted while their action waits for a lock is refused", async () => {
  const [actor, target] = [await as("admin"), await as("member")]
  const [ban] = await whileUncommitted(["UPDATE users SET role = 'member' WHERE id = $1", actor], () =>
    changeStatus("ban", actor, target, null),
  )
  expect(ban).toEqual(refused("not_permitted"))
  expect(await standing(target)).toEqual(["member", "active"])
})
