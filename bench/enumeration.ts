import { randomUUID } from "node:crypto"
import { hashPassword } from "@/lib/sign-in/password-hash"
import { serve } from "@/scripts/build-and-serve"
import { builtActions, callAction } from "@/tests/support/client"
import { createUser } from "@/tests/support/factories"
import { provideBuild, runProgram, stopAtExit } from "@/tests/support/lifecycle"
import { startMailServer } from "@/tests/support/mail-server"
import { median, openDatabase, printConditions, quantile, startServer } from "./bench"

// Measures whether response times reveal which email addresses have an account. The kinds of accounts are tried in a
// new random order each round, so that other load on the machine affects all alike. Each attempt uses a new account and
// a new IP address, so no rate limit applies.

const rounds = Number(process.argv[2] ?? 100)

type Kind = { name: string; newEmail: () => Promise<string> }
type Form = { name: string; action: string; path: string; fields: (email: string) => Record<string, string> }

const forms: readonly Form[] = [
  {
    name: "Signing in with a wrong password",
    action: "sign-in signIn",
    path: "/sign-in",
    fields: (email) => ({ email, password: "not the password" }),
  },
  {
    name: "Requesting a password reset email",
    action: "reset-password request",
    path: "/reset-password",
    fields: (email) => ({ email }),
  },
]

async function main(): Promise<void> {
  await provideBuild()
  const given = await openDatabase(10)
  const mail = stopAtExit(await startMailServer())
  // Hashed at the product's cost, so that a check takes as long as in production.
  const passwordHash = await hashPassword("correct horse battery staple", "the bench")
  const kinds: readonly Kind[] = [
    { name: "unknown", newEmail: async () => `unknown-${randomUUID()}@example.com` },
    { name: "with a password", newEmail: async () => (await createUser({ passwordHash })).email },
    { name: "without a password", newEmail: async () => (await createUser()).email },
    { name: "banned", newEmail: async () => (await createUser({ passwordHash, status: "banned" })).email },
  ]
  const settings = { SMTP_URL: mail.url, EMAIL_FROM: "shop@example.com", TRUSTED_PROXY_HOPS: "1", LOG_LEVEL: "error" }
  const server = await startServer(
    (port) => serve(port, { ...given, ...settings, BASE_URL: "http://localhost" }),
    "/api/v1/me",
  )
  await printConditions(`${rounds} attempts of each, in milliseconds`)
  for (const form of forms) await measure(server, form, kinds)
}

async function measure(server: { address: string }, { name, action, path, fields }: Form, kinds: readonly Kind[]) {
  const built = (await builtActions()).find((candidate) => candidate.name === action)
  if (!built) throw new Error(`There is no action ${action}.`)
  const times = new Map(kinds.map((kind) => [kind, [] as number[]]))
  // The first five rounds warm up.
  for (let round = -5; round < rounds; round++) {
    for (const kind of shuffle(kinds)) {
      const email = await kind.newEmail()
      const start = performance.now()
      const { status } = await callAction(server, built, { path, fields: fields(email) })
      const time = performance.now() - start
      if (status !== 200) throw new Error(`${name}: ${status}`)
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
