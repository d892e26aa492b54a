import { dayAfter, type KnownSeal } from "@/lib/audit/seals"
import { readLog, type Told, type Trust, trusts } from "./log-lines"

export type ToldRun = { id: string; accountId: string; keyId: string; credits: number; time: string; trust: Trust }

export type ToldEntry = Extract<Told, { event: "audited" }> & { trust: Trust }

export type Evidence = {
  /** `unsigned`: from before the first verified line. Later lines without a signature are `forged`, too. */
  runs: ToldRun[]
  entries: ToldEntry[]
  from: string
  to: string
  damaged: number
}

/** The runs of a month would not fit into memory. */
const batch = 10_000

/** @param findKept returns the runs that the database has; they are left out */
export async function readEvidence(
  files: readonly string[],
  findKept: (ids: string[]) => Promise<Iterable<string>> = async () => [],
): Promise<Evidence> {
  const [runs, entries] = [new Map<string, ToldRun>(), new Map<string, ToldEntry>()]
  const unchecked = new Set<string>()
  async function leaveKeptOut(): Promise<void> {
    for (const id of await findKept([...unchecked])) for (const trust of trusts) runs.delete(trust + id)
    unchecked.clear()
  }
  let [from, to] = ["", ""]
  const damaged = await readLog(files, async (told, trust) => {
    if (trust === "verified" && (!from || told.time < from)) from = told.time
    if (trust === "verified" && told.time > to) to = told.time
    // A repeated line is one entry. Another line with the same id does not hide it.
    if (told.event === "audited") entries.set(trust + JSON.stringify(told), { ...told, trust })
    if (told.event !== "request") return
    const { keyId, time, run } = told
    const known = runs.get(trust + run.id)
    // A run without credits in its line was replayed: the first line of the run, if there is one, has them.
    if (!known || run.credits > known.credits) runs.set(trust + run.id, { ...run, keyId, time, trust })
    if (!known) unchecked.add(run.id)
    if (unchecked.size === batch) await leaveKeptOut()
  })
  await leaveKeptOut()
  const dated = <Line extends { time: string; trust: Trust }>(line: Line): Line =>
    line.trust === "unsigned" && !(line.time < from) ? { ...line, trust: "forged" } : line
  // Their ids are UUIDv7, made by the clock of the database: servers can have other clocks.
  const ordered = [...entries.values()].sort((one, other) => (one.entryId < other.entryId ? -1 : 1))
  return { runs: [...runs.values()].map(dated), entries: ordered.map(dated), from, to, damaged }
}

export type LoggedSeals = { seals: KnownSeal[]; unverified: number; damaged: number }

export async function readSeals(files: readonly string[]): Promise<LoggedSeals> {
  const [seals, restores] = [new Map<string, KnownSeal & { time: string }>(), [] as { time: string; moment: string }[]]
  let unverified = 0
  const damaged = await readLog(files, (told, trust) => {
    if (told.event === "audit_sealed" && trust !== "verified") unverified++
    if (trust !== "verified") return
    if (told.event === "audit_sealed") seals.set(`${told.time} ${told.day}`, told)
    if (told.event === "database_restored") restores.push(told)
  })
  const isOfAnotherPast = ({ day, time }: KnownSeal & { time: string }) =>
    restores.some((restore) => restore.time > time && restore.moment < dayAfter(day))
  return { seals: [...seals.values()].filter((seal) => !isOfAnotherPast(seal)), unverified, damaged }
}
