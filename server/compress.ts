import { createHash } from "node:crypto"
import type { IncomingMessage } from "node:http"
import type { Transform } from "node:stream"
import { promisify } from "node:util"
import zlib from "node:zlib"
import Negotiator from "negotiator"
import { singleton } from "@/lib/singleton"

/** In bytes: below it, compression saves no packet. */
const minLength = 1_024

/** Each holds up to a megabyte and a share of the CPU until its client has read it. */
export const maxCompressedStreams = 4

type Coding = {
  compress: (body: Buffer) => Promise<Buffer>
  create: () => Transform & { flush: (done: () => void) => void }
}

const brotli = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }
// Node 20 has no zstd, and neither have its types; 22.15 has it.
const { zstdCompress, createZstdCompress, constants } = zlib as typeof zlib & {
  zstdCompress?: (body: Buffer, done: (error: Error | null, body: Buffer) => void) => void
  createZstdCompress?: typeof zlib.createGzip
  constants: { ZSTD_e_flush?: number }
}

/** In the order in which they are chosen. */
const codings: Readonly<Record<string, Coding>> = {
  ...(zstdCompress &&
    createZstdCompress && {
      zstd: {
        compress: promisify(zstdCompress),
        create: () => withFlush(createZstdCompress(), constants.ZSTD_e_flush ?? 1),
      },
    }),
  br: {
    compress: (body) => promisify(zlib.brotliCompress)(body, brotli),
    create: () => withFlush(zlib.createBrotliCompress(brotli), constants.BROTLI_OPERATION_FLUSH),
  },
  gzip: {
    compress: (body) => promisify(zlib.gzip)(body),
    create: () => withFlush(zlib.createGzip(), constants.Z_SYNC_FLUSH),
  },
}

/**
 * The response in a coding that the request accepts. Not in the routes, because Next removes their Content-Encoding; it
 * compresses by itself.
 */
export async function compress({ method, headers }: IncomingMessage, response: Response): Promise<Response> {
  const length = response.headers.get("content-length")
  if (response.status !== 200 || (length !== null && Number(length) < minLength)) return response
  const name = acceptedBy(headers["accept-encoding"])
  const coding = name && codings[name]
  response.headers.append("vary", "Accept-Encoding")
  if (!coding || response.body === null || (length === null && running().count >= maxCompressedStreams)) return response
  const { status, statusText } = response
  const sent = new Headers(response.headers)
  sent.set("content-encoding", name)
  if (length === null) {
    // The stream of a HEAD request is never read.
    const stream = method === "HEAD" ? response.body : compressStream(coding, response.body)
    return new Response(stream, { status, statusText, headers: sent })
  }
  const plain = Buffer.from(await response.arrayBuffer())
  const isPublic = response.headers.get("cache-control")?.startsWith("public")
  const body = await (isPublic ? documentIn(name, coding, plain) : coding.compress(plain))
  sent.set("content-length", String(body.length))
  return new Response(new Uint8Array(body), { status, statusText, headers: sent })
}

const maxDocuments = 64

/** Anybody may request a public document any number of times, so each is compressed once a process. */
function documentIn(name: string, { compress }: Coding, plain: Buffer): Promise<Buffer> {
  const documents = singleton("compressed-documents", () => new Map<string, Promise<Buffer>>())
  const key = `${name} ${createHash("sha1").update(plain).digest("hex")}`
  if (!documents.has(key) && documents.size >= maxDocuments) documents.clear()
  const compressed = documents.get(key) ?? compress(plain)
  documents.set(key, compressed)
  return compressed
}

/** Each chunk can be decoded when it arrives. The stream has its end only if the source has. */
function compressStream(coding: Coding, source: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const encoder = coding.create()
  const reader = source.getReader()
  const parts: Buffer[] = []
  encoder.on("data", (part: Buffer) => parts.push(part))
  running().count++
  encoder.once("close", () => running().count--)
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { value, done } = await reader.read()
          if (value) encoder.write(value)
          await new Promise<void>((resolve) => (done ? encoder.once("end", resolve).end() : encoder.flush(resolve)))
          controller.enqueue(Buffer.concat(parts.splice(0)))
          if (done) controller.close()
        } catch (error) {
          encoder.destroy()
          throw error
        }
      },
      cancel(reason) {
        encoder.destroy()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}

function running(): { count: number } {
  return singleton("compressed-streams", () => ({ count: 0 }))
}

/** The published types lack the options. */
type Preferring = { encoding(available: string[], options: { preferred: string[] }): string | undefined }

function acceptedBy(header = ""): string | undefined {
  const accepted = { headers: { "accept-encoding": header } }
  const preferred = [...Object.keys(codings), "identity"]
  return (new Negotiator(accepted) as unknown as Preferring).encoding(preferred, { preferred })
}

function withFlush<Encoder extends Transform & { flush: (kind: number, done: () => void) => void }>(
  encoder: Encoder,
  kind: number,
) {
  const { flush } = encoder
  return Object.assign(encoder, { flush: (done: () => void) => flush.call(encoder, kind, done) })
}
