import { createReadStream } from "node:fs"
import { createInterface } from "node:readline"
import { z } from "zod"

// The log lines of servers that say what people were told: a run that was acknowledged, and what is in the audit log.

const run = z.object({
  event: z.literal("request"),
  time: z.iso.datetime(),
  keyId: z.uuid(),
  run: z.object({ id: z.uuid(), accountId: z.uuid(), credits: z.number() }),
})

const entry = z
  .object({
    event: z.literal("audited"),
    time: z.iso.datetime(),
    entryId: z.uuid(),
    action: z.string(),
    actorId: z.uuid().nullable(),
    targetType: z.string(),
    targetId: z.string(),
    role: z.string().optional(),
  })
  // Such an action can be done again, and the database would refuse another id.
  .refine(({ action, targetId }) => !/^(user|api_key)\./.test(action) || z.uuid().safeParse(targetId).success)

const other = z
  .object({ time: z.iso.datetime(), event: z.string(), run: z.undefined().optional() })
  .refine(({ event }) => event !== "audited")

const line = z.union([run, entry, other])

export type ToldRun = { id: string; accountId: string; keyId: string; credits: number; time: string }

export type ToldEntry = z.output<typeof entry>

export type Evidence = {
  runs: Map<string, ToldRun>
  entries: ToldEntry[]
  /** The times of the first and the last line, of whatever event. */
  from: string
  to: string
  /** The number of lines that a server has written and that cannot be read, as the last one of a server that was killed. */
  damaged: number
  /** The files without a line of a server, as compressed ones. */
  foreign: string[]
}

/** How a server's line starts, also a damaged one. */
const start = /\{"level":"\w+","time":"/

/** Of so many runs at once is asked which ones the database has: those of a month would not fit into memory. */
const batch = 10_000

/**
 * Reads files of log lines in any order. What stands before the JSON, as the name of a container, and what is no line of a
 * server is skipped.
 * @param findKept returns those of the runs that the database has; they are left out
 */
export async function readEvidence(
  files: readonly string[],
  findKept: (ids: string[]) => Promise<Iterable<string>> = async () => [],
): Promise<Evidence> {
  const [runs, entries] = [new Map<string, ToldRun>(), new Map<string, ToldEntry>()]
  const foreign: string[] = []
  const unchecked = new Set<string>()
  async function leaveKeptOut(): Promise<void> {
    for (const id of await findKept([...unchecked])) runs.delete(id)
    unchecked.clear()
  }
  let [from, to, damaged] = ["", "", 0]
  for (const file of files) {
    let isForeign = true
    for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      const { data } = line.safeParse(parsed(text))
      if (!data && start.test(text)) damaged++
      if (!data) continue
      isForeign = false
      if (!from || data.time < from) from = data.time
      if (data.time > to) to = data.time
      if ("entryId" in data) entries.set(data.entryId, data)
      else if (data.run) {
        if (!runs.has(data.run.id)) unchecked.add(data.run.id)
        addRun(runs, data)
        if (unchecked.size === batch) await leaveKeptOut()
      }
    }
    if (isForeign) foreign.push(file)
  }
  await leaveKeptOut()
  // Their ids are UUIDv7, which the database makes by its clock: servers can have other clocks.
  const ordered = [...entries.values()].sort((one, other) => (one.entryId < other.entryId ? -1 : 1))
  return { runs, entries: ordered, from, to, damaged, foreign }
}

/** A run without credits in its line was replayed: the first line of the run, if there is one, has them. */
function addRun(runs: Map<string, ToldRun>, { time, keyId, run: told }: z.output<typeof run>): void {
  const known = runs.get(told.id)
  if (!known || told.credits > known.credits) runs.set(told.id, { ...told, keyId, time })
}

function parsed(text: string): unknown {
  const start = text.indexOf("{")
  try {
    return start < 0 ? undefined : JSON.parse(text.slice(start))
  } catch {
    return undefined
  }
}
