import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { GET } from "@/app/api/v1/me/run/route"
import { exampleBody } from "@/lib/api/documents/document"
import { root } from "@/scripts/root"

// The metered work of this product, which a team replaces. Tests send its example and read its maximum cost.

const source = await readFile(join(root, "app/api/v1/me/run/route.ts"), "utf8")

/** Whether the work has `store`: its settlement then takes more round trips than one. */
export const storesResult = /^ {2}store\b/m.test(source)

const { metered, body } = GET.endpoint
const example = exampleBody(GET.endpoint)
if (!metered || !body || !example) throw new Error("app/api/v1/me/run/route.ts is not a metered endpoint.")
const { maxCost, sample } = metered

/** Whether the start page runs texts of visitors, instead of showing a recorded example. */
export const hasSample = sample !== undefined

/** `body` is the example, in ASCII for tests that count bytes. */
export const work = { path: "/api/v1/me/run", maxCost, body: inAscii(example) }

/** Bodies with different meanings and costs: the example with its texts and lists repeated, if the schema accepts that. */
export function longerBody(times: number): string {
  const longer = Object.fromEntries(Object.entries(example ?? {}).map(([name, value]) => [name, repeat(value, times)]))
  return body?.safeParse(longer).success ? inAscii(longer) : work.body
}

/** A body other than the example; none if the work accepts only one body. */
export const otherBodies = [longerBody(2)].filter((other) => other !== work.body)

function repeat(value: unknown, times: number): unknown {
  if (typeof value === "string") return value.repeat(times)
  return Array.isArray(value) ? Array.from({ length: times }, () => value).flat() : value
}

function inAscii(value: object): string {
  return JSON.stringify(value).replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
}
