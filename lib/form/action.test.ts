import { randomUUID } from "node:crypto"
import { IncomingMessage, ServerResponse } from "node:http"
import { Socket } from "node:net"
import { beforeEach, expect, test, vi } from "vitest"
import { z } from "zod"
import { env } from "@/lib/env"
import { keepResponse } from "@/lib/platform/http/responses"
import { hidden, requestId, secret } from "@/lib/platform/schemas/form-fields"
import { log } from "@/lib/platform/telemetry/log"
import { TooManyPasswords } from "@/lib/sign-in/passwords/password-hash"
import type { Viewer } from "@/lib/sign-in/session-rows"
import { cheapHashOf, createViewer } from "@/tests/support/factories"
import { done, formAction, guestFormAction } from "./action"

// Next's request exists only inside its server; tests/http sends forms to the build.
let origin: string | null
let more: Record<string, string> = {}
vi.mock("next/headers", () => ({
  headers: async () => new Headers({ ...more, ...(origin !== null && { origin }) }),
  cookies: async () => ({ get: () => undefined }),
}))

let viewer: Viewer | null
let hasEnded: boolean
vi.mock("@/lib/sign-in/browser-session", () => ({
  currentViewer: async () => viewer,
  refreshSession: async (stale: Viewer) => (hasEnded ? null : { ...stale, isFresh: true }),
}))

const id = randomUUID()
const act = vi.fn(async (_form: unknown) => done("Saved"))
const submit = guestFormAction({
  fields: z
    .object({
      name: z.string().min(1, "Enter a name."),
      password: secret(z.string()),
      source: hidden(z.enum(["a"])),
      requestId,
    })
    .refine(({ name }) => name !== "nobody", "This form cannot be sent."),
  act,
})

function form(fields: Record<string, string> = {}): FormData {
  const data = new FormData()
  const all = { name: "Ann", password: "a secret", source: "a", requestId: id, ...fields }
  for (const [name, value] of Object.entries(all)) data.set(name, value)
  return data
}

const kept = { name: "Ann", requestId: id }

beforeEach(() => {
  origin = env().BASE_URL
  act.mockReset()
  act.mockImplementation(async () => done("Saved"))
})

test("a valid form acts once, and the form shows its result", async () => {
  expect(await submit(null, form())).toEqual({ ok: true, done: "Saved" })
  expect(act).toHaveBeenCalledExactlyOnceWith(
    { name: "Ann", password: "a secret", source: "a", requestId: id },
    expect.objectContaining({ address: expect.any(String) }),
  )
})

test.each([null, "null", "https://evil.example"])("a form with the origin %s does not act", async (foreign) => {
  origin = foreign
  const message = "This form was not sent from this site. Reload the page and try again."
  expect(await submit(null, form())).toEqual({ ok: false, message, errors: {}, values: kept })
  expect(act).not.toHaveBeenCalled()
})

test("when the database is lost, it is unknown whether the form acted: it keeps its id and input, without the password", async () => {
  const logError = vi.spyOn(log(), "error").mockImplementation(() => {})
  act.mockRejectedValue(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }))
  const message = "The service is unavailable right now. Try again in a moment."
  expect(await submit(null, form())).toEqual({ ok: false, unknown: true, message, errors: {}, values: kept })
  expect(logError.mock.calls.map(([, event]) => event)).toEqual(["service_unavailable"])
})

test("when too many passwords wait to be hashed, a 503 has the form with its input, without the password", async () => {
  const request = new IncomingMessage(new Socket())
  const response = new ServerResponse(request)
  keepResponse(request, response)
  more = request.headers as Record<string, string>
  act.mockRejectedValue(new TooManyPasswords())
  const message = "The service is busy checking passwords. Try again in a moment."
  expect(await submit(null, form())).toEqual({ ok: false, message, errors: {}, values: kept })
  expect([response.statusCode, response.getHeader("retry-after")]).toEqual([503, "2"])
  more = {}
})

test("any other error is not hidden", async () => {
  act.mockRejectedValue(new Error("A bug"))
  await expect(submit(null, form())).rejects.toThrow("A bug")
})

test("an error is shown at its field; one of a hidden field or of no field is shown for the form", async () => {
  const incomplete = "This form is incomplete. Reload the page and try again."
  expect(await submit(null, form({ name: "" }))).toMatchObject({ ok: false, errors: { name: "Enter a name." } })
  expect(await submit(null, form({ source: "b" }))).toMatchObject({ ok: false, message: incomplete, errors: {} })
  const refused = { ok: false, message: "This form cannot be sent.", errors: {} }
  expect(await submit(null, form({ name: "nobody" }))).toMatchObject(refused)
  expect(act).not.toHaveBeenCalled()
})

const proof = "correct horse battery staple"

const row = {
  fields: z.object({ name: z.string().min(1, "Enter a name."), password: secret(z.string()), requestId }),
  permission: "users.manage",
} as const
const submitFresh = formAction({ ...row, fresh: true, act })
const submitAnyway = formAction({ ...row, fresh: false, act })

/** The result of a form that asks for the password. */
function asking(error?: string) {
  const request = { method: "password", email: viewer?.email, error, retype: true }
  return { ok: false, proof: request, errors: {}, values: kept }
}

/** An account whose session gave its last proof of identity more than ten minutes ago. */
beforeEach(async () => {
  const staff = await createViewer({ role: "admin", passwordHash: cheapHashOf(proof) })
  viewer = { ...staff, isFresh: false }
  hasEnded = false
})

test("a form that asks for a fresh proof acts once it is given, as a fresh session, and keeps its input until then", async () => {
  expect(await submitFresh(null, form())).toEqual(asking())
  expect(await submitFresh(null, form({ proof: "wrong" }))).toEqual(asking("This is not your password."))
  expect(act).not.toHaveBeenCalled()
  expect(await submitFresh(null, form({ proof }))).toEqual({ ok: true, done: "Saved" })
  expect(act).toHaveBeenCalledExactlyOnceWith(
    { name: "Ann", password: "a secret", requestId: id },
    expect.objectContaining({ viewer: { ...viewer, isFresh: true } }),
  )
})

test("a form that asks for a fresh proof acts at once with one, and ignores its field", async () => {
  if (viewer) viewer = { ...viewer, isFresh: true }
  expect(await submitFresh(null, form())).toMatchObject({ ok: true })
  expect(await submitFresh(null, form({ proof: "wrong" }))).toMatchObject({ ok: true })
})

test("a form of a page that belongs to another account does not act", async () => {
  expect(await submitAnyway(null, form({ viewerId: randomUUID() }))).toMatchObject({
    ok: false,
    message: expect.stringContaining("belongs to another account"),
    values: kept,
  })
  expect(act).not.toHaveBeenCalled()
  expect(await submitAnyway(null, form({ viewerId: viewer?.id ?? "" }))).toMatchObject({ ok: true })
})

test("a form that does not ask for a fresh proof acts without", async () => {
  expect(await submitAnyway(null, form())).toMatchObject({ ok: true })
})

test("a proof is asked for last: not by a foreign form, without a session, without the permission or with invalid fields", async () => {
  const refusals = async () => (await submitFresh(null, form({ proof }))) as { proof?: unknown }
  expect(await submitFresh(null, form({ name: "" }))).toEqual({
    ...{ ok: false, errors: { name: "Enter a name." }, values: { ...kept, name: "" } },
  })
  if (viewer) viewer = { ...viewer, role: "analyst" }
  expect(await refusals()).toMatchObject({ ok: false, message: "Your role lacks the permission users.manage." })
  viewer = null
  expect(await refusals()).toMatchObject({ ok: false, signedOut: true })
  origin = "https://evil.example"
  expect(await refusals()).toMatchObject({ ok: false, message: expect.stringContaining("not sent from this site") })
  expect(act).not.toHaveBeenCalled()
})

test("a form with the password in a field of its own asks only accounts with a second factor", async () => {
  const change = formAction({ ...row, fresh: "second factor", act })
  expect(await change(null, form())).toMatchObject({ ok: true })
  if (viewer) viewer = { ...viewer, twoFactor: true }
  expect(await change(null, form())).toEqual(asking())
})

test("a session that ends while its proof is checked does not act", async () => {
  hasEnded = true
  expect(await submitFresh(null, form({ proof }))).toMatchObject({ ok: false, signedOut: true })
  expect(act).not.toHaveBeenCalled()
})

test("only a form with passwords says that they must be typed again", async () => {
  expect(await submitFresh(null, form({ password: "" }))).toMatchObject({ proof: { retype: false } })
})

test.each([null, "x", { proof }, ["proof"]])("a value that is not a form proves nothing: %j", async (data) => {
  const noFields = formAction({ fields: z.object({}), permission: null, fresh: true, act })
  expect(await noFields(null, data as unknown as FormData)).toMatchObject({ ok: false, proof: { error: undefined } })
  expect(act).not.toHaveBeenCalled()
})
