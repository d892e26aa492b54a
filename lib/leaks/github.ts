import { createPublicKey, type KeyObject, verify } from "node:crypto"
import { Readable } from "node:stream"
import type { ReadableStream } from "node:stream/web"
import { z } from "zod"
import { env } from "@/lib/env"
import { log } from "@/lib/platform/telemetry/log"
import { singleton } from "@/lib/singleton"

// GitHub signs its reports of leaked keys:
// https://docs.github.com/en/code-security/secret-scanning/secret-scanning-partnership-program/secret-scanning-partner-program

const listLastsMs = 24 * 3_600_000

/** Unknown identifiers, however many, cause one read in this time. */
const readEveryMs = 60_000

const timeoutMs = 2_500
const maxListBytes = 256 * 1024

const publicKeys = z.object({ public_keys: z.array(z.object({ key_identifier: z.string(), key: z.string() })) })

/** Times on the clock of `performance.now`. */
type State = { keys: Map<string, KeyObject>; readAt: number; triedAt: number; reading?: Promise<void> | undefined }

function state(): State {
  return singleton("github-keys", () => ({ keys: new Map(), readAt: -Infinity, triedAt: -Infinity }))
}

/** @returns undefined if GitHub has no such key, "unavailable" if no list of the last day can be read */
export async function findGithubKey(identifier: string): Promise<KeyObject | "unavailable" | undefined> {
  const current = state()
  const isCurrent = () => performance.now() - current.readAt < listLastsMs
  if (!isCurrent() || !current.keys.has(identifier)) {
    if (performance.now() - current.triedAt >= readEveryMs) current.reading = readList(current)
    await current.reading
  }
  return isCurrent() ? current.keys.get(identifier) : "unavailable"
}

async function readList(current: State): Promise<void> {
  current.triedAt = performance.now()
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(env().GITHUB_KEYS_URL, {
      // Next caches by default in some places.
      cache: "no-store",
      redirect: "error",
      signal,
    })
    if (!response.ok) throw new Error(`status ${response.status}`)
    current.keys = keysIn(await textOf(response, signal))
    current.readAt = performance.now()
  } catch (error) {
    log().error({ why: String(error) }, "github_keys_not_read")
  } finally {
    current.reading = undefined
  }
}

async function textOf({ body }: Response, signal: AbortSignal): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  // The signal again: fetch holds the request weakly, and after its collection the signal no longer ends the body.
  for await (const chunk of body ? Readable.fromWeb(body as ReadableStream<Uint8Array>, { signal }) : []) {
    size += chunk.byteLength
    if (size > maxListBytes) throw new Error(`more than ${maxListBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** GitHub signs with P-256 keys only. */
function keysIn(list: string): Map<string, KeyObject> {
  const { public_keys } = publicKeys.parse(JSON.parse(list))
  const keys = public_keys.map(({ key_identifier, key }) => [key_identifier, createPublicKey(key)] as const)
  return new Map(keys.filter(([, key]) => key.asymmetricKeyDetails?.namedCurve === "prime256v1"))
}

/** ECDSA over SHA-256. @param signature DER in base64 */
export function isSigned(bytes: Buffer, signature: string, key: KeyObject): boolean {
  return verify("sha256", bytes, { key, dsaEncoding: "der" }, Buffer.from(signature, "base64"))
}
