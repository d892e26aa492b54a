import { randomUUID } from "node:crypto"
import sharp from "sharp"
import { expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { maxPictureBytes } from "@/lib/platform/http/body-limits"
import { db } from "@/lib/platform/postgres/prisma"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { findViewer } from "@/lib/sign-in/session-rows"
import { createPicture, createUser, createViewer } from "@/tests/support/factories"
import { findPicture, removePicture, removePictureOf, savePicture } from "./pictures"

const file = new Blob([
  new Uint8Array(
    await sharp({ create: { width: 9, height: 9, channels: 3, background: "#123456" } })
      .png()
      .toBuffer(),
  ),
])

const read = async () => file

function entriesOf(targetId: string) {
  return db().auditEntry.findMany({
    where: { targetId },
    orderBy: { id: "asc" },
    select: { actorId: true, action: true },
  })
}

test("a picture replaces the previous one under another version, and is removed; each is audited once", async () => {
  const { id, sessionId } = await createViewer()
  const shown = async () => (await findViewer({ sub: id, sid: sessionId }))?.picture
  expect(await shown()).toBeNull()
  expect(await savePicture(id, read)).toBe("saved")
  const first = await shown()
  expect(await savePicture(id, read)).toBe("saved")
  expect(await shown()).not.toBe(first)
  expect(await db().userPicture.count({ where: { userId: id } })).toBe(1)
  for (let count = 0; count < 2; count++) await removePicture(id)
  expect(await shown()).toBeNull()
  const [changed, removed] = ["user.picture_changed", "user.picture_removed"]
  expect(await entriesOf(id)).toEqual([changed, changed, removed].map((action) => ({ actorId: id, action })))
})

test("a picture that is refused leaves the previous one, and no entry", async () => {
  const { id } = await createUser()
  const { version } = await createPicture(id)
  const save = (blob: Blob | null) => savePicture(id as OwnerId, async () => blob)
  expect(await save(null)).toBe("no_file")
  expect(await save(new Blob([]))).toBe("no_file")
  expect(await save(new Blob([new Uint8Array(maxPictureBytes + 1)]))).toBe("too_large")
  expect(await save(new Blob(["GIF89a"]))).toBe("wrong_type")
  expect(await save(file.slice(0, 40))).toBe("unreadable")
  expect(await db().userPicture.findUniqueOrThrow({ where: { userId: id } })).toMatchObject({ version })
  expect(await entriesOf(id)).toEqual([])
})

test("an account uploads a limited number of pictures an hour; a file beyond it is not read", async () => {
  const id = (await createUser()).id as OwnerId
  let reads = 0
  const count = async () => {
    reads++
    return null
  }
  for (let upload = 0; upload < limits.picturesAccount.tokens; upload++) await savePicture(id, count)
  expect(await savePicture(id, count)).toBe("too_many")
  expect(reads).toBe(limits.picturesAccount.tokens)
})

test("staff who manage accounts remove a customer's picture, but not an owner's", async () => {
  const [admin, support] = [await createUser({ role: "admin" }), await createUser({ role: "support" })]
  const [customer, owner] = [await createUser(), await createUser({ role: "owner" })]
  for (const { id } of [customer, owner]) await createPicture(id)
  const remove = (actor: { id: string }, target: string) => removePictureOf(actor.id as OwnerId, target)
  expect(await remove(support, customer.id)).toEqual({ ok: false, reason: "not_permitted" })
  expect(await remove(admin, owner.id)).toEqual({ ok: false, reason: "beyond_actor" })
  expect(await remove(admin, randomUUID())).toEqual({ ok: false, reason: "not_found" })
  expect(await remove(admin, customer.id)).toMatchObject({ ok: true, changed: true })
  expect(await remove(admin, customer.id)).toMatchObject({ ok: true, changed: false })
  expect(await entriesOf(customer.id)).toEqual([{ actorId: admin.id, action: "user.picture_removed" }])
})

test("a picture is found by its account and by staff who may read accounts", async () => {
  const owner = await createUser()
  const { version, image } = await createPicture(owner.id)
  const seenBy = async (role: string, id = randomUUID()) =>
    (await findPicture(version, { id: id as OwnerId, role })) !== undefined
  expect(await findPicture(version, { id: owner.id as OwnerId, role: "member" })).toEqual(new Uint8Array(image))
  expect([await seenBy("support"), await seenBy("finance"), await seenBy("member")]).toEqual([true, false, false])
})
