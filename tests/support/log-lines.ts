import { randomUUID } from "node:crypto"
import { rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onTestFinished, vi } from "vitest"
import { env } from "@/lib/env"
import { type Evidence, type EvidenceEvent, signed, verifyEvidence } from "@/lib/platform/telemetry/evidence"

/** A line as a server writes it, at a given time and with a given secret. */
export function signedLine<Event extends EvidenceEvent>(
  event: Event,
  fields: Evidence[Event],
  { at = new Date(), secret = env().AUTH_SECRET }: { at?: Date; secret?: string } = {},
) {
  const { AUTH_SECRET } = env()
  Object.assign(env(), { AUTH_SECRET: secret })
  vi.useFakeTimers({ now: at, toFake: ["Date"] })
  const line = { level: "info", time: at.toISOString(), event, ...signed(event, fields) }
  vi.useRealTimers()
  Object.assign(env(), { AUTH_SECRET })
  return line
}

/** Whether the fields of a line are signed as a server signs them. */
export function isSigned<Event extends EvidenceEvent>(event: Event, fields: unknown): boolean {
  const line = { event, ...(fields as Evidence[Event] & { at: string; signature: string }) }
  return verifyEvidence(line, [env().AUTH_SECRET])
}

/** The fields of an entry that no audit log has. */
export function entryOf(action: string, targetId: string, role?: string) {
  const targetType = action.startsWith("api_key") ? "api_key" : "user"
  return { entryId: newId(), action, actorId: null, targetType, targetId, role }
}

let made = 0

/** Like a UUIDv7 of long ago: each is greater than the one before. */
function newId(): string {
  return `01990000-${String(made++).padStart(4, "0")}-7${randomUUID().slice(15)}`
}

/** A file with these lines, until the test ends. */
export async function logFile(...lines: readonly (object | string)[]): Promise<string> {
  const path = join(tmpdir(), `log-${randomUUID()}`)
  await writeFile(path, lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""))
  onTestFinished(() => rm(path))
  return path
}
