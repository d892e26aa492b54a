import { randomInt } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { Given } from "@/scripts/build-and-serve"
import { ask, builtActions, callAction, type RawResponse, type SentHeaders, sameOriginHeaders } from "./client"
import { imported, stoppedClock, type TestServer } from "./server"

/** An account at the sign-in provider; `email` is the public address of its profile, which anyone can claim. */
type Person = { id: string; name: string; email: string | null; addresses: Address[] }

type Address = { email: string; primary: boolean; verified: boolean }

export type Provider = {
  /** The environment with which a server uses this provider; its clock stands at `now`. */
  given: (now?: number) => Given
  /** By default the primary address is the one of the profile, and verified. */
  person: (about: Partial<Person>) => Person
  /** Signs in through the provider as `person`, from the sign-in page; `headers` are sent with the callback request. */
  signIn: (
    server: Pick<TestServer, "address">,
    person: Person,
    headers: SentHeaders,
    callbackUrl?: string,
    /** The parameters that the provider sends in addition to `state`: the person's code by default. */
    parameters?: Readonly<Record<string, string>>,
  ) => Promise<RawResponse>
  stop: () => Promise<void>
}

/** A fake GitHub: the authorization code is the id of the person who signs in. */
export async function startProvider(): Promise<Provider> {
  const people = new Map<string, Person>()
  const server = createServer(async (request, response) => {
    response.setHeader("content-type", "application/json")
    if (request.url === "/github.com/login/oauth/access_token") {
      const form = new URLSearchParams((await request.toArray()).join(""))
      response.end(JSON.stringify({ access_token: form.get("code"), token_type: "bearer", scope: "read:user" }))
      return
    }
    const person = people.get(request.headers.authorization?.split(" ")[1] ?? "")
    const found: Record<string, unknown> = {
      "/api.github.com/user": { name: person?.name, email: person?.email, id: Number(person?.id), login: "login" },
      "/api.github.com/user/emails": person?.addresses,
    }
    const body = person && found[request.url ?? ""]
    response.statusCode = body ? 200 : 404
    response.end(JSON.stringify(body ?? {}))
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  const { port } = server.address() as AddressInfo
  return {
    given: (now) => ({
      GITHUB_CLIENT_ID: "id",
      GITHUB_CLIENT_SECRET: "secret",
      NODE_OPTIONS: `${stoppedClock(now)} ${redirectTo(port)}`,
    }),
    person: (about) => {
      const { email = null } = about
      const addresses = email === null ? [] : [{ email, primary: true, verified: true }]
      const person = { id: String(randomInt(2 ** 40)), name: "Test Person", email, addresses, ...about }
      people.set(person.id, person)
      return person
    },
    signIn,
    stop: async () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Redirects Node's https requests to the port, with the original host as the first segment of the path. */
function redirectTo(port: number): string {
  const script = `
    import http from "node:http"
    import https from "node:https"
    https.request = (address, options, done) => {
      const { host, pathname, search } = new URL(address)
      return http.request(\`http://127.0.0.1:${port}/\${host}\${pathname}\${search}\`, { ...options, agent: undefined }, done)
    }`
  return imported(script)
}

/** A sign-in at the provider that a browser has started: its cookies, and the state that the provider sends back. */
export type Started = { cookies: string[]; state: string }

/** Calls the action that redirects to the provider. */
export async function start(
  server: Pick<TestServer, "address">,
  name: string,
  sent: Parameters<typeof callAction>[2],
): Promise<Started> {
  const action = (await builtActions()).find((candidate) => candidate.name === name)
  if (!action) throw new Error(`There is no action ${name}.`)
  const { headers, cookies } = await callAction(server, action, sent)
  const target = new URL(headers.get("x-action-redirect")?.replace(/;push$/, "") ?? "")
  return { cookies: cookies.map((line) => line.split(";")[0] ?? ""), state: target.searchParams.get("state") ?? "" }
}

/** The request with which the provider sends the browser back. */
export function comeBack(
  server: Pick<TestServer, "address">,
  { cookies, state }: Started,
  headers: SentHeaders,
  parameters: Readonly<Record<string, string>>,
  provider = "github",
): Promise<RawResponse> {
  const cookie = [headers.cookie, ...cookies].filter(Boolean).join("; ")
  const path = `/api/auth/callback/${provider}?${new URLSearchParams({ ...parameters, state })}`
  return ask(server, { path, headers: { ...sameOriginHeaders(), ...headers, cookie } })
}

async function signIn(
  server: Pick<TestServer, "address">,
  person: Person,
  headers: SentHeaders,
  callbackUrl = "/",
  parameters: Readonly<Record<string, string>> = { code: person.id },
): Promise<RawResponse> {
  const fields = { provider: "github", callbackUrl }
  const started = await start(server, "_shell signInThrough", { path: "/sign-in", fields })
  return comeBack(server, started, headers, parameters)
}
