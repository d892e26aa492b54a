import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { shiftedDate } from "./clock"

/** Evaluates the script in a process with a shifted Date. */
async function evaluate(script: string): Promise<unknown> {
  const env = { ...process.env, ...shiftedDate(1) }
  const { stdout } = await promisify(execFile)(process.execPath, ["-p", `JSON.stringify(${script})`], { env })
  return JSON.parse(stdout)
}

const aDayMs = 86_400_000

test("every way to read the current time is a day ahead", async () => {
  const times = (await evaluate("[Date.now(), +new Date(), Date.parse(Date())]")) as number[]
  for (const time of times) expect(Math.abs(time - aDayMs - Date.now())).toBeLessThan(60_000)
})

test("explicit times and the static functions of Date are unchanged", async () => {
  const script = `[new Date(0).toISOString(), new Date(2026, 0, 2).getDate(), Date.UTC(2026, 0), Date.parse("2026-01-01"),
    new Date() instanceof Date, new Date().constructor === Date, Date.name, Date.length]`
  const [utc, parsed] = [Date.UTC(2026, 0), Date.parse("2026-01-01")]
  expect(await evaluate(script)).toEqual(["1970-01-01T00:00:00.000Z", 2, utc, parsed, true, true, "Date", 7])
})

test("the replacement has all own properties of Date, since Next copies only those", async () => {
  expect(await evaluate("Object.getOwnPropertyNames(Date).sort()")).toEqual(Object.getOwnPropertyNames(Date).sort())
})
