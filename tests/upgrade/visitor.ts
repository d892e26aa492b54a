import { type Exchange, exchange } from "@/tests/support/exchange"
import { readForms } from "@/tests/support/forms"
import type { Instance } from "./instances"

/** The public address of all instances, as a proxy would send it. */
export const publicUrl = "http://localhost:22000"

const host = new URL(publicUrl).host

type Fields = Readonly<Record<string, string>>

/** A person with a browser without scripts, who can use any instance. */
export class Visitor {
  readonly #address: string
  readonly #cookies = new Map<string, string>()

  /** @param address the IP address; each has its own limits */
  constructor(address: string) {
    this.#address = address
  }

  get session(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ")
  }

  open(at: Instance, path: string): Promise<Exchange> {
    return this.#send(at, path, {})
  }

  /** The hidden fields of the page's form that has these fields. */
  async formOf(at: Instance, path: string, fields: Fields): Promise<Fields> {
    const { status, body } = await this.open(at, path)
    const form = readForms(body).find((form) => Object.keys(fields).every((name) => name in form))
    if (!form) throw new Error(`${path} of the ${at.build.name} build has no such form: ${status}`)
    return form
  }

  /** Submits a form that `formOf` returned to any instance. */
  async submit(at: Instance, path: string, form: Fields, fields: Fields): Promise<Exchange> {
    const data = new FormData()
    for (const [name, value] of Object.entries({ ...form, ...fields })) data.append(name, value)
    const encoded = new Response(data)
    const headers = { origin: publicUrl, "content-type": encoded.headers.get("content-type") ?? "" }
    return this.#send(at, path, { method: "POST", headers, body: new Uint8Array(await encoded.arrayBuffer()) })
  }

  async fill(at: Instance, path: string, fields: Fields): Promise<Exchange> {
    return this.submit(at, path, await this.formOf(at, path, fields), fields)
  }

  async #send(at: Instance, path: string, sent: Parameters<typeof exchange>[1]): Promise<Exchange> {
    const headers = { ...sent?.headers, host, "x-forwarded-for": this.#address, cookie: this.session }
    const response = await exchange(at.address + path, { ...sent, headers }, 60_000)
    if (!response) throw new Error(`${path} of the ${at.build.name} build returned nothing`)
    for (const cookie of response.headers["set-cookie"] ?? []) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      this.#cookies.set(name, value)
    }
    return response
  }
}
