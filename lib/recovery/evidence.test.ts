import { randomUUID } from "node:crypto"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { readEvidence } from "./evidence"

const directory = await mkdtemp(join(tmpdir(), "evidence-"))

afterAll(() => rm(directory, { recursive: true }))

async function file(...lines: readonly (object | string)[]): Promise<string> {
  const path = join(directory, randomUUID())
  await writeFile(path, lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""))
  return path
}

const at = (second: number) => `2026-01-31T12:00:0${second}.000Z`
const [id, accountId, keyId] = [randomUUID(), randomUUID(), randomUUID()]
const told = (second: number, credits: number) => ({
  level: "info",
  time: at(second),
  event: "request",
  keyId,
  status: 200,
  run: { id, accountId, credits },
})

test("a run that was told and replayed is one run with its credits", async () => {
  const files = [await file(told(3, 0)), await file(told(2, 7), told(5, 0))]
  const { runs } = await readEvidence(files)
  expect([...runs.values()]).toEqual([{ id, accountId, keyId, credits: 7, time: at(2) }])
})

test("entries are in the order of their ids, whatever servers and files they are from", async () => {
  const entry = (entryId: string, second: number) => {
    const rest = { action: "user.banned", actorId: null, targetType: "user", targetId: accountId }
    return { time: at(second), event: "audited", entryId, ...rest }
  }
  const [first, second] = ["01990000-0000-7000-8000-000000000001", "01990000-0000-7000-8000-000000000002"]
  const { entries } = await readEvidence([await file(entry(second, 1)), await file(entry(first, 2))])
  expect(entries.map(({ entryId }) => entryId)).toEqual([first, second])
})

test("what stands before a line is skipped, and so are lines of others, also half ones", async () => {
  const path = await file(
    "Process 1 listens",
    `web-1  | ${JSON.stringify(told(1, 2))}`,
    '{"time":"2026',
    '{"event":5}',
    "{}",
  )
  const evidence = await readEvidence([path])
  expect([evidence.runs.size, evidence.damaged, evidence.foreign]).toEqual([1, 0, []])
})

test("the times are those of the first and the last line of any kind", async () => {
  const other = (second: number) => ({ time: at(second), event: "sign_in_refused" })
  const evidence = await readEvidence([await file(told(4, 1), other(9)), await file(other(2))])
  expect([evidence.from, evidence.to]).toEqual([at(2), at(9)])
})

test("a file without a line of a server is named, also beside one that has some", async () => {
  const [compressed, empty] = [await file("\u001f\u008b\u0000{}", "no line of a server"), await file()]
  expect((await readEvidence([await file(told(1, 2)), compressed, empty])).foreign).toEqual([compressed, empty])
})

test.each([
  ["half a line", JSON.stringify(told(1, 2)).slice(0, -9)],
  [
    "two lines in one another",
    `{"level":"info","time":"2026-01-31T{"level":"info","time":"${at(1)}","event":"request"}`,
  ],
  ["an entry without its id", { level: "info", time: at(1), event: "audited", action: "user.banned" }],
  ["a run without its account", { level: "info", time: at(1), event: "request", keyId, run: { id, credits: 1 } }],
  [
    "an action on an account without its id",
    {
      level: "info",
      time: at(1),
      event: "audited",
      entryId: id,
      action: "user.banned",
      actorId: null,
      targetType: "user",
      targetId: "'; DROP",
    },
  ],
])("%s is counted as damaged, and says nothing", async (_, line) => {
  const { runs, entries, damaged } = await readEvidence([await file(told(2, 3), line)])
  expect([runs.size, entries, damaged]).toEqual([1, [], 1])
})

test("of runs that the database has, no more are held than it is asked about at once", async () => {
  const many = Array.from({ length: 25_000 }, () => ({
    ...told(1, 2),
    run: { id: randomUUID(), accountId, credits: 2 },
  }))
  const asked: number[] = []
  const { runs } = await readEvidence([await file(told(1, 5), ...many, told(2, 0))], async (ids) => {
    asked.push(ids.length)
    return ids.filter((one) => one !== id)
  })
  expect([[...runs.keys()], runs.get(id)?.credits, asked]).toEqual([[id], 5, [10_000, 10_000, 5_001]])
})
