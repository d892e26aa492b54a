import { createReadStream } from "node:fs"
import { createInterface } from "node:readline"
import { z } from "zod"
import { ownMigrations } from "@/lib/platform/postgres/readiness"
import { logSecrets, verifyEvidence } from "@/lib/platform/telemetry/evidence"

/** Commands print it: no character may end a line. */
const word = z.string().regex(/^[\w.-]{1,100}$/)

const proof = { time: z.iso.datetime(), at: z.iso.datetime().optional(), signature: z.string().optional() }

const run = z.object({
  ...proof,
  event: z.literal("request"),
  keyId: z.uuid(),
  run: z.object({ id: z.uuid(), accountId: z.uuid(), credits: z.number() }),
})

const entry = z
  .object({
    ...proof,
    event: z.literal("audited"),
    entryId: z.uuid(),
    action: word,
    actorId: z.uuid().nullable(),
    targetType: word,
    targetId: word,
    role: word.optional(),
  })
  // The database would refuse to look up another id.
  .refine(({ action, targetId }) => !/^(user|api_key)\./.test(action) || z.uuid().safeParse(targetId).success)

const seal = z.object({
  ...proof,
  event: z.literal("audit_sealed"),
  day: z.iso.date(),
  entries: z.number(),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
})

const restored = z.object({ ...proof, event: z.literal("database_restored"), moment: z.iso.datetime() })

const evidence = z.discriminatedUnion("event", [run, entry, seal, restored])

const other = z
  .object({ time: z.iso.datetime(), event: z.string(), run: z.undefined().optional() })
  .refine(({ event }) => !["audited", "audit_sealed", "database_restored"].includes(event))
  .transform(({ time }) => ({ time, event: undefined }))

const line = z.union([evidence, other])

/** `time` is the signed one, if there is one. */
export type Told = z.output<typeof evidence>

export const trusts = ["verified", "unsigned", "forged"] as const

export type Trust = (typeof trusts)[number]

const start = /\{"level":"\w+","time":"/

const maxAheadMs = 60_000

/**
 * Skips text before the JSON, such as the name of a container, and lines of other programs.
 * @returns the number of lines that cannot be read, as the last one of a server that was killed, or have an impossible time
 */
export async function readLog(
  files: readonly string[],
  take: (told: Told, trust: Trust) => Promise<void> | void,
): Promise<number> {
  const [earliest, latest, secrets] = [await firstMigrationAt(), Date.now() + maxAheadMs, logSecrets()]
  let damaged = 0
  for (const file of files) {
    let isForeign = true
    for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      const { data } = line.safeParse(parsed(text))
      if (!data && !start.test(text)) continue
      isForeign = false
      const told = data?.event ? { ...data, time: data.at ?? data.time } : undefined
      const at = Date.parse((told ?? data)?.time ?? "")
      if (!(at >= earliest && at <= latest)) damaged++
      else if (told) await take(told, trustOf(told, secrets))
    }
    // Otherwise the contents of this file, which may be compressed, would be missing without notice.
    if (isForeign) throw new Error(`${file}: no line is from a server's log.`)
  }
  return damaged
}

/** No server of this product wrote an earlier line. */
async function firstMigrationAt(): Promise<number> {
  const [name = ""] = await ownMigrations()
  return Date.parse(name.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d).*$/, "$1-$2-$3T$4:$5:$6Z"))
}

function trustOf({ at, signature, ...told }: Told, secrets: readonly string[]): Trust {
  if (signature === undefined) return "unsigned"
  return at && verifyEvidence({ ...told, at, signature }, secrets) ? "verified" : "forged"
}

function parsed(text: string): unknown {
  const start = text.indexOf("{")
  try {
    return start < 0 ? undefined : JSON.parse(text.slice(start))
  } catch {
    return undefined
  }
}
