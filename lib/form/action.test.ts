import { randomUUID } from "node:crypto"
import { beforeEach, expect, test, vi } from "vitest"
import { z } from "zod"
import { env } from "@/lib/env"
import { hidden, requestId, secret } from "@/lib/input/fields"
import { TooManyPasswords } from "@/lib/sign-in/password-hash"
import { log } from "@/lib/telemetry/log"
import { done, guestFormAction } from "./action"

// Next's request exists only inside its server; tests/http sends forms to the build.
let origin: string | null
vi.mock("next/headers", () => ({
  headers: async () => new Headers(origin === null ? {} : { origin }),
  cookies: async () => ({ get: () => undefined }),
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

test("a valid form acts once, and its result is what the form shows", async () => {
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

test("when too many passwords wait to be hashed, the form says so and keeps its input, without the password", async () => {
  act.mockRejectedValue(new TooManyPasswords())
  const message = "The service is busy checking passwords. Try again in a moment."
  expect(await submit(null, form())).toEqual({ ok: false, message, errors: {}, values: kept })
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
