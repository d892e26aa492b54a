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
  compress: (body: string) => Promise<Buffer>
  create: () => Transform & { flush: (done: () => void) => void }
}

const brotli = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }
// The types are those of Node 20; zstd came with 22.15.
const { zstdCompress, createZstdCompress, constants } = zlib as typeof zlib & {
  zstdCompress?: (body: string, done: (error: Error | null, body: Buffer) => void) => void
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

export type Encoded<Body> = { body: Body; headers: Readonly<Record<string, string>> }

/** The body in a coding that the request accepts, or as it is. */
export async function encodeText(request: Request, body: string): Promise<Encoded<string | Buffer>> {
  const name = Buffer.byteLength(body) < minLength ? undefined : acceptedBy(request)
  const coding = name && codings[name]
  if (!coding) return { body, headers: {} }
  return { body: await coding.compress(body), headers: { "content-encoding": name } }
}

/** Each chunk can be decoded when it arrives. The stream has its end only if the source has. */
export function encodeStream(
  request: Request,
  source: ReadableStream<Uint8Array>,
): Encoded<ReadableStream<Uint8Array>> {
  const name = acceptedBy(request)
  const coding = name && codings[name]
  if (!coding || running().count >= maxCompressedStreams) return { body: source, headers: {} }
  const headers = { "content-encoding": name }
  // Its stream is never read.
  if (request.method === "HEAD") return { body: source, headers }
  const encoder = coding.create()
  const reader = source.getReader()
  const parts: Buffer[] = []
  encoder.on("data", (part: Buffer) => parts.push(part))
  running().count++
  encoder.once("close", () => running().count--)
  const body = new ReadableStream<Uint8Array>(
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
  return { body, headers }
}

function running(): { count: number } {
  return singleton("compressed-streams", () => ({ count: 0 }))
}

/** The published types lack the options. */
type Preferring = { encoding(available: string[], options: { preferred: string[] }): string | undefined }

function acceptedBy({ headers }: Request): string | undefined {
  const accepted = { headers: { "accept-encoding": headers.get("accept-encoding") ?? "" } }
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
