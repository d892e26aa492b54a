import { expect, test } from "vitest"
import { ask, builtActions, callAction, sameOriginHeaders } from "@/tests/support/client"
import { cheapHashOf, createUser } from "@/tests/support/factories"
import { listeners } from "@/tests/support/sample"
import { imported, startTestServer } from "@/tests/support/server"

// Only the log writes to the output of a server: no client can write a line there.

const { id } = (await builtActions()).find(({ name }) => name === "sign-in signIn") ?? expect.fail()

const planted = '{"level":"info","time":"2026-01-31T12:00:00.000Z","event":"audited"}'
const hostile = `1\n${planted}\n\u001b[31m\u0085\u009b2J\u2028\u202e\u061c`

/** Every reference of React's protocol for arguments of actions, and some that it does not know. */
const types = [
  "$",
  "$$",
  "@",
  "h",
  "T",
  "Q",
  "W",
  "K",
  "i",
  "I",
  "-",
  "N",
  "u",
  "D",
  "n",
  "l",
  "A",
  "O",
  "o",
  "U",
  "S",
  "s",
]
  .concat(["L", "G", "M", "m", "V", "B", "R", "r", "X", "x", "Z", "0:", "1:a", "F", "E", "P"])
  .map((type) => (type.startsWith("$") ? type : `$${type}`))

const bodies = [
  ...types.map((type) => JSON.stringify([null, type + hostile])),
  ...["[", '["', "", hostile, '[null,"$K1"', '{"__proto__":"$n1"}', `"${"[".repeat(10_000)}`],
]

/** Throws and warns on a signal, as a faulty library would. */
const faulty = imported(`process.on("SIGUSR2", () => {
  process.emitWarning(${JSON.stringify(hostile)})
  setImmediate(() => { throw new Error(${JSON.stringify(hostile)}) })
})`)

test.each(listeners)(
  "text that a client sends or a library prints never forms a log line of its own (%s)",
  async (listener) => {
    const server = await startTestServer(listener, { LOG_LEVEL: "warn", NODE_OPTIONS: faulty })
    const statuses = new Set<number>()
    const send = async (body: string | FormData, headers: Record<string, string>) => {
      const sent = { method: "POST", path: "/sign-in", body, headers: { ...sameOriginHeaders(), ...headers } }
      const response = await ask(server, sent)
      statuses.add(response.status)
      return response
    }
    for (const body of bodies) {
      await send(body, { "next-action": id, "content-type": "text/plain;charset=UTF-8" })
      const [argument, form] = [new FormData(), new FormData()]
      argument.set("0", body)
      await send(argument, { "next-action": id })
      form.set("$ACTION_REF_1", "")
      form.set("$ACTION_1:0", JSON.stringify({ id, bound: "$@1" }))
      form.set("$ACTION_1:1", body)
      const { status, text } = await send(form, {})
      if (status === 400) expect(text).toBe("This form is not readable. Reload the page and try again.")
    }
    expect([...statuses].sort()).toEqual([200, 400])
    // The page still works, and so does its form.
    expect((await ask(server, { path: "/sign-in" })).status).toBe(200)

    // Next prints an uncaught error and continues.
    const [, pid] = /"pid":(\d+)/.exec(server.output()) ?? []
    process.kill(Number(pid), "SIGUSR2")
    await expect.poll(server.output).toContain("uncaughtException: ")
    const lines = server.output().trimEnd().split("\n")
    const others = lines.filter((line) => !line.startsWith('{"level":'))
    // Next prints these before it starts the product.
    expect(others.filter((line) => !/^(Process \d+ listens|▲|- |✓|$)/.test(line))).toEqual([])
    expect(lines.filter((line) => /[\p{Cc}\u2028\u202e\u061c]/u.test(line))).toEqual([])
    const events = lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line).event)
    expect(new Set(events)).toEqual(new Set(["printed", "form_not_readable"]))
  },
)

test("a sign-in whose page is rendered with its response prints nothing", async () => {
  const server = await startTestServer("lean", { LOG_LEVEL: "warn" })
  const password = "correct horse battery staple"
  const { email } = await createUser({ passwordHash: cheapHashOf(password) })
  const fields = { email, password, callbackUrl: "/account" }
  const { headers } = await callAction(server, { id }, { path: "/sign-in", fields })
  expect(headers.get("x-action-redirect")).toMatch(/^\/account;/)
  expect(server.output()).not.toContain("MaxListenersExceededWarning")
})
