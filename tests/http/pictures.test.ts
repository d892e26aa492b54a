import { randomUUID } from "node:crypto"
import sharp from "sharp"
import { expect, test } from "vitest"
import { maxPictureBytes, maxUploadBytes, uploadPath } from "@/lib/platform/http/body-limits"
import { db } from "@/lib/platform/postgres/prisma"
import { ask, type SentHeaders, sameOriginHeaders, sessionOf } from "@/tests/support/client"
import { createPicture, createUser } from "@/tests/support/factories"
import { server } from "@/tests/support/shared-server"

// Uploads and pictures over HTTP, against the build.

async function picture(side = 300): Promise<Uint8Array<ArrayBuffer>> {
  const create = { width: side, height: side, channels: 3, background: "#336699" } as const
  return new Uint8Array(await sharp({ create }).png().toBuffer())
}

async function person(role = "member") {
  const user = await createUser({ role })
  return { id: user.id, headers: { cookie: await sessionOf(user) } }
}

function upload(bytes: Uint8Array<ArrayBuffer>, headers: SentHeaders) {
  const body = new FormData()
  body.set("picture", new File([bytes], "me.png", { type: "image/png" }))
  return ask(server, { method: "POST", path: uploadPath, body, headers: { ...sameOriginHeaders(), ...headers } })
}

function versionOf(userId: string) {
  return db()
    .userPicture.findUnique({ where: { userId } })
    .then((found) => found?.version)
}

test("an uploaded picture is served only to its account and to staff who read accounts", async () => {
  const customer = await person()
  const { status, headers } = await upload(await picture(), customer.headers)
  expect([status, headers.get("location")]).toEqual([303, "/account/settings?picture=saved"])
  const path = `/pictures/${await versionOf(customer.id)}`
  const served = await ask(server, { path, headers: customer.headers })
  expect(served.status).toBe(200)
  expect(Object.fromEntries(served.headers)).toMatchObject({
    "content-type": "image/webp",
    "content-disposition": "inline",
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "private, max-age=31536000, immutable",
  })
  const unknown = await ask(server, { path: `/pictures/${randomUUID()}`, headers: customer.headers })
  const seenBy: Record<string, number> = {}
  const callers = Object.fromEntries<{ headers: SentHeaders }>(
    await Promise.all(
      ["owner", "admin", "support", "finance", "member"].map(async (role) => [role, await person(role)] as const),
    ),
  )
  for (const [name, { headers }] of Object.entries({ ...callers, nobody: { headers: {} } })) {
    const response = await ask(server, { path, headers })
    seenBy[name] = response.status
    if (response.status !== 404) continue
    expect([response.text, response.headers.get("cache-control")]).toEqual(["", "no-store"])
    expect(response.headers.get("content-type")).toBe(unknown.headers.get("content-type"))
  }
  expect(seenBy).toEqual({ owner: 200, admin: 200, support: 200, finance: 404, member: 404, nobody: 404 })
})

test("a banned account and an ended session cannot see or upload pictures", async () => {
  const customer = await person()
  const { version } = await createPicture(customer.id)
  await db().user.update({ where: { id: customer.id }, data: { status: "banned" } })
  expect((await ask(server, { path: `/pictures/${version}`, headers: customer.headers })).status).toBe(404)
  const { status, headers } = await upload(await picture(), customer.headers)
  expect([status, headers.get("location")]).toEqual([303, "/sign-in?callbackUrl=/account/settings"])
  expect(await versionOf(customer.id)).toBe(version)
})

test.each<[string, SentHeaders]>([
  ["no origin", { origin: undefined }],
  ["a sandboxed frame", { origin: "null" }],
  ["another site", { origin: "https://evil.example" }],
  ["another site, with a matching Host", { origin: "https://evil.example", host: "evil.example" }],
])("an upload from %s is refused", async (_name, headers) => {
  const customer = await person()
  expect((await upload(await picture(), { ...customer.headers, ...headers })).status).toBe(403)
  expect(await versionOf(customer.id)).toBeUndefined()
})

test("a file of the maximum size is read, and a larger one redirects to the form", async () => {
  const customer = await person()
  const padded = new Uint8Array(maxPictureBytes)
  padded.set(await picture())
  const outcomeOf = async (bytes: Uint8Array<ArrayBuffer>) =>
    (await upload(bytes, customer.headers)).headers.get("location")?.replace(/^.*\?picture=/, "")
  expect(await outcomeOf(padded)).toBe("saved")
  expect(await outcomeOf(new Uint8Array(maxPictureBytes + 1))).toBe("too_large")
  expect(await outcomeOf(new Uint8Array(maxUploadBytes + 1))).toBe("too_large")
})

test.each([
  ["a form without a file", "multipart/form-data; boundary=x", "--x--\r\n"],
  ["a form that is cut off", "multipart/form-data; boundary=x", '--x\r\nContent-Disposition: form-data; name="pic'],
  ["a text instead of a file", "application/x-www-form-urlencoded", "picture=x"],
  ["no form", "application/json", "{}"],
  ["nothing", "multipart/form-data; boundary=x", ""],
])("%s leads back to the form, which asks for a picture", async (_what, type, body) => {
  const { headers } = await person()
  const sent = {
    method: "POST",
    path: uploadPath,
    body,
    headers: { ...sameOriginHeaders(), ...headers, "content-type": type },
  }
  const response = await ask(server, sent)
  expect([response.status, response.headers.get("location")]).toEqual([303, "/account/settings?picture=no_file"])
})

test("only the upload form accepts a body of a picture's size", async () => {
  const { headers } = await person()
  const body = "x".repeat(64 * 1024 + 1)
  for (const path of ["/account/settings", `${uploadPath}/`, `${uploadPath}/x`]) {
    const type = { "content-type": "multipart/form-data; boundary=x" }
    const response = await ask(server, {
      method: "POST",
      path,
      body,
      headers: { ...sameOriginHeaders(), ...headers, ...type },
    })
    expect(response.status, path).toBe(413)
  }
})
