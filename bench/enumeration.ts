import { randomUUID } from "node:crypto"
import { newSecret } from "@/lib/keys/secret"
import { hashPassword } from "@/lib/sign-in/passwords/password-hash"
import { serve } from "@/scripts/build-and-serve"
import { anotherAddress, ask, builtActions, callAction, type RawResponse } from "@/tests/support/client"
import { createKey, createUser } from "@/tests/support/factories"
import { provideBuild, runProgram, stopAtExit } from "@/tests/support/lifecycle"
import { startMailServer } from "@/tests/support/mail-server"
import { median, openDatabase, printConditions, quantile, type Server, sized, startServer } from "./bench"

// Measures whether response times reveal which email addresses have an account, and which keys work. The kinds are tried
// in a new random order each round, so that other load on the machine affects all alike. Each attempt uses a new account
// and a new IP address, so no rate limit applies.

const rounds = Number(process.argv[2] ?? sized(100, 2))

/** `subject`: a new email address, or a new key. */
type Kind = { name: string; newSubject: () => Promise<string> }
type Attempt = { name: string; kinds: readonly Kind[]; status: number; send: (subject: string) => Promise<RawResponse> }

async function main(): Promise<void> {
  await provideBuild()
  const given = await openDatabase(10)
  const mail = stopAtExit(await startMailServer())
  // Hashed at the product's cost, so that a check takes as long as in production.
  const passwordHash = await hashPassword("correct horse battery staple", "the bench")
  const accounts: readonly Kind[] = [
    { name: "unknown", newSubject: async () => `unknown-${randomUUID()}@example.com` },
    { name: "with a password", newSubject: async () => (await createUser({ passwordHash })).email },
    { name: "without a password", newSubject: async () => (await createUser()).email },
    { name: "banned", newSubject: async () => (await createUser({ passwordHash, status: "banned" })).email },
  ]
  // Each kind creates a key, because a report takes longer after work of the database.
  const reported =
    (subjectOf: (secret: string) => string, overrides = {}) =>
    async () => {
      const { secret } = await createKey({ user: await createUser(), surface: "user", ...overrides })
      return subjectOf(secret)
    }
  const keys: readonly Kind[] = [
    { name: "unknown", newSubject: reported(() => newSecret("user")) },
    { name: "live", newSubject: reported((secret) => secret) },
    { name: "revoked", newSubject: reported((secret) => secret, { revokedAt: new Date() }) },
    { name: "with a wrong checksum", newSubject: reported((secret) => `${secret.slice(0, -6)}000000`) },
    { name: "of another service", newSubject: reported(() => `ghp_${randomUUID().replaceAll("-", "")}0000`) },
  ]
  const settings = { SMTP_URL: mail.url, EMAIL_FROM: "shop@example.com", TRUSTED_PROXY_HOPS: "1", LOG_LEVEL: "error" }
  const server = await startServer(
    (port) => serve(port, { ...given, ...settings, BASE_URL: "http://localhost" }),
    "/api/v1/me",
  )
  const attempts: readonly Attempt[] = [
    {
      name: "Signing in with a wrong password",
      kinds: accounts,
      status: 200,
      send: await formSender(server, "sign-in signIn", "/sign-in", (email) => ({
        email,
        password: "not the password",
      })),
    },
    {
      name: "Requesting a password reset email",
      kinds: accounts,
      status: 200,
      send: await formSender(server, "reset-password request", "/reset-password", (email) => ({ email })),
    },
    { name: "Reporting a leaked key", kinds: keys, status: 202, send: (key) => reportKey(server, key) },
  ]
  await printConditions(`${rounds} attempts of each, in milliseconds`)
  for (const attempt of attempts) await measure(attempt)
}

async function formSender(
  server: Server,
  action: string,
  path: string,
  fields: (email: string) => Record<string, string>,
): Promise<Attempt["send"]> {
  const built = (await builtActions()).find((candidate) => candidate.name === action)
  if (!built) throw new Error(`There is no action ${action}.`)
  return (email) => callAction(server, built, { path, fields: fields(email) })
}

function reportKey(server: Server, key: string): Promise<RawResponse> {
  const headers = { "content-type": "application/json", "x-forwarded-for": anotherAddress() }
  return ask(server, { method: "POST", path: "/api/leaks", headers, body: JSON.stringify({ keys: [key] }) })
}

async function measure({ name, kinds, status, send }: Attempt): Promise<void> {
  const times = new Map(kinds.map((kind) => [kind, [] as number[]]))
  // The first five rounds warm up.
  for (let round = -5; round < rounds; round++) {
    for (const kind of shuffle(kinds)) {
      const subject = await kind.newSubject()
      const start = performance.now()
      const response = await send(subject)
      const time = performance.now() - start
      if (response.status !== status) throw new Error(`${name}: ${response.status}`)
      if (round >= 0) times.get(kind)?.push(time)
    }
  }
  console.log(`\n${name.padEnd(44)}${["median", "10%", "90%", "ratio"].map((heading) => heading.padStart(9)).join("")}`)
  const [first = []] = times.values()
  for (const [kind, measured] of times) {
    const numbers = [median(measured), quantile(measured, 0.1), quantile(measured, 0.9)].map((ms) => ms.toFixed(1))
    const ratio = (median(measured) / median(first)).toFixed(3)
    console.log(`  ${kind.name.padEnd(42)}${[...numbers, ratio].map((cell) => cell.padStart(9)).join("")}`)
  }
}

function shuffle<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item)
}

await runProgram(main)
