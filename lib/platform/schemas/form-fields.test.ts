import { expect, test } from "vitest"
import { type ZodType, z } from "zod"
import { statusReason } from "@/lib/accounts/mutations"
import { renameForm } from "@/lib/accounts/rename"
import { creditForm } from "@/lib/credits/mutations"
import { feedbackForm } from "@/lib/feedback"
import { newKeyForms } from "@/lib/keys/mutations"
import { resetRequestForm } from "@/lib/sign-in/passwords/password-reset"
import { connectForm, disconnectForm } from "@/lib/sign-in/providers/provider-accounts"
import { signUpForm } from "@/lib/sign-in/sign-up"
import { removalForm } from "@/lib/sign-in/two-factor/factors"
import { passkeyForm } from "@/lib/sign-in/two-factor/passkeys"
import { waitlistForm } from "@/lib/waitlist/waitlist"
import { hidden, isHidden, isShownAgain, requestId, secret, several, textsOf } from "./form-fields"

const fields = z.object({ name: z.string(), file: z.string(), missing: z.string() })

test("a form contains the texts of its fields and nothing else", () => {
  const form = new FormData()
  form.set("name", "Nova")
  form.set("$ACTION_ID", "1")
  form.set("file", new File(["x"], "x.txt"))
  expect(textsOf(fields, form)).toEqual({ name: "Nova", file: "", missing: "" })
})

test("a form's several checkboxes of one name are a line each", () => {
  const form = new FormData()
  for (const name of ["Nova", "Ann"]) form.append("name", name)
  expect(textsOf(fields, form)).toEqual({ name: "Nova\nAnn", file: "", missing: "" })
})

test("a field of several values counts each once, and refuses too many before it checks any", () => {
  const field = several(3, z.array(z.string().regex(/^[abc]$/, "Write a, b or c.")))
  expect(field.parse(" a,b\n\na , c\n")).toEqual(["a", "b", "c"])
  const messages = (text: string) => field.safeParse(text).error?.issues.map(({ message }) => message)
  expect(messages("x")).toEqual(["Write a, b or c."])
  expect(messages("w,x,y,z")).toEqual(["Enter at most 3 values."])
})

test.each([[null], [undefined], ["x\n{}"], [["x\ny"]], [{ name: "x" }]])(
  "a value that is not a form has empty fields: %j",
  (data) => {
    expect(textsOf(fields, data)).toEqual({ name: "", file: "", missing: "" })
  },
)

const sent = { requestId: "0199c0de-0000-7000-8000-000000000001" }

/** Each form with valid values, and its fields that are stored as text. */
test.each<[string, ZodType, Record<string, string>, string[]]>([
  [
    "a sign-up",
    signUpForm,
    { name: "Ann", email: "a@example.com", password: "correct horse battery" },
    ["name", "email"],
  ],
  ["a change of name", renameForm, { name: "Ann" }, ["name"]],
  ["a password reset", resetRequestForm, { email: "a@example.com" }, ["email"]],
  ["a connection", connectForm, { provider: "github" }, ["provider"]],
  ["a disconnection", disconnectForm, { id: sent.requestId }, ["id"]],
  ["a passkey", passkeyForm, { name: "Laptop", response: "{}" }, ["name"]],
  ["the removal of a second factor", removalForm, { factor: "app" }, ["factor"]],
  ["feedback", feedbackForm, { rating: "5", message: "Good." }, ["rating", "message"]],
  ["the waitlist", waitlistForm, { email: "a@example.com", note: "Soon?", source: "blog" }, ["email", "note"]],
  [
    "a new key",
    newKeyForms.user,
    {
      ...sent,
      name: "CI",
      expires: "never",
      date: "",
      scopes: "read",
      addresses: "203.0.113.7",
      requestsPerMinute: "60",
      spendLimit: "5",
      spendPeriod: "day",
    },
    ["requestId", "name", "expires", "date", "scopes", "addresses", "requestsPerMinute", "spendLimit", "spendPeriod"],
  ],
  ["a credit grant", creditForm, { ...sent, amount: "5", reason: "A gift" }, ["requestId", "amount", "reason"]],
  ["a ban", z.strictObject({ reason: statusReason }), { reason: "Abuse" }, ["reason"]],
])("the form for %s refuses NUL, lone surrogates and unknown fields", (_what, form, valid, fields) => {
  expect(form.safeParse(valid).success).toBe(true)
  for (const name of fields) {
    for (const hostile of ["\0", "\ud800", "\udc00", "\ude00\ud83d"]) {
      for (const value of [hostile, `${valid[name]}${hostile}`, `a${hostile}b`]) {
        const { error } = form.safeParse({ ...valid, [name]: value })
        expect(error?.issues[0]?.path[0], `${name} ${JSON.stringify(value)}`).toBe(name)
        expect(error?.issues[0]?.message).toBeTruthy()
      }
    }
  }
  for (const more of ['{"role":"owner"}', '{"__proto__":{}}', '{"constructor":{}}']) {
    const withMore = JSON.parse(`${JSON.stringify(valid).slice(0, -1)},${more.slice(1)}`)
    expect(form.safeParse(withMore).error?.issues[0]?.code, more).toBe("unrecognized_keys")
  }
})

test("form fields named like members of Object.prototype set nothing else", () => {
  const form = new FormData()
  form.set("__proto__", "x")
  form.set("constructor", "x")
  const named = z.object({ name: z.string(), toString: z.string() })
  expect(textsOf(named, form)).toEqual({ name: "", toString: "" })
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

test("passwords and hidden fields are not shown again, but the id of the form is kept", () => {
  const form = z.object({ name: z.string(), id: hidden(z.uuid()), password: secret(z.string()), requestId })
  const shown = ["name", "id", "password", "requestId"].filter((name) => isShownAgain(form, name))
  expect(shown).toEqual(["name", "requestId"])
  expect(isHidden(form, "requestId")).toBe(true)
})
