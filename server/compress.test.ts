import type { IncomingMessage } from "node:http"
import zlib from "node:zlib"
import { expect, test } from "vitest"
import { singletons } from "@/lib/singleton"
import { compress, maxCompressedStreams } from "./compress"

const text = JSON.stringify({ data: Array.from({ length: 100 }, (_, id) => ({ id, status: "active" })) })

const decoders = {
  br: zlib.brotliDecompressSync,
  gzip: zlib.gunzipSync,
  ...("zstdDecompressSync" in zlib && { zstd: zlib.zstdDecompressSync as (body: Buffer) => Buffer }),
}

function accepting(codings: string | undefined, method = "GET"): IncomingMessage {
  return { method, headers: codings === undefined ? {} : { "accept-encoding": codings } } as IncomingMessage
}

function responseOf(body: string): Response {
  return new Response(body, { headers: { "content-length": String(body.length), vary: "Accept" } })
}

function streamed(accepted: IncomingMessage, stream: ReadableStream<Uint8Array>) {
  return compress(accepted, new Response(stream))
}

test.each(Object.entries(decoders))("a text in %s is smaller and decodes to the same bytes", async (name, decode) => {
  const response = await compress(accepting(name), responseOf(text))
  const body = Buffer.from(await response.arrayBuffer())
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-encoding": name,
    "content-length": String(body.length),
    vary: "Accept, Accept-Encoding",
  })
  expect(body.length).toBeLessThan(text.length / 4)
  expect(decode(body).toString()).toBe(text)
})

const best = "zstd" in decoders ? "zstd" : "br"

test.each([
  [undefined, undefined],
  ["", undefined],
  ["identity", undefined],
  ["deflate", undefined],
  ["gzip", "gzip"],
  ["GZIP", "gzip"],
  ["gzip, deflate, br", "br"],
  ["gzip, deflate, br, zstd", best],
  ["gzip;q=1, br;q=0.5", "gzip"],
  ["gzip;q=0, identity", undefined],
  ["gzip;q=0.5, identity;q=0.8", undefined],
  ["*", best],
  ["gzip;q=oops", undefined],
])("Accept-Encoding: %s selects %s", async (accepted, expected) => {
  const { headers } = await compress(accepting(accepted), responseOf(text))
  expect([headers.get("content-encoding") ?? undefined, headers.get("vary")]).toEqual([
    expected,
    "Accept, Accept-Encoding",
  ])
})

test("a public document is compressed once, and a response to a key each time", async () => {
  const send = (control: string) => {
    const headers = { "content-length": String(text.length), "cache-control": control }
    return compress(accepting("gzip"), new Response(text, { headers }))
  }
  const kept = () => (singletons["compressed-documents"] as Map<string, unknown> | undefined)?.size ?? 0
  for (const [control, documents] of [
    ["no-store", 0],
    ["public, max-age=300", 1],
  ] as const) {
    for (const response of await Promise.all([send(control), send(control)]))
      expect(zlib.gunzipSync(Buffer.from(await response.arrayBuffer())).toString()).toBe(text)
    expect(kept(), control).toBe(documents)
  }
})

test("a text below one kilobyte and an error are sent as they are", async () => {
  for (const plain of [responseOf("x".repeat(1_023)), new Response(text, { status: 400 }), new Response(null)])
    expect(await compress(accepting("gzip"), plain)).toBe(plain)
})

/** A stream whose chunks are sent by hand. */
function source() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let isCanceled = false
  const stream = new ReadableStream<Uint8Array>({
    start(created) {
      controller = created
    },
    cancel() {
      isCanceled = true
    },
  })
  return {
    stream,
    send: (chunk: string) => controller?.enqueue(Buffer.from(chunk)),
    end: () => controller?.close(),
    fail: () => controller?.error(new Error("incomplete")),
    isCanceled: () => isCanceled,
  }
}

test.each(Object.keys(decoders))("in %s, each chunk of a stream can be decoded when it arrives", async (name) => {
  const { stream, send, end } = source()
  const { body, headers } = await streamed(accepting(name), stream)
  expect(headers.get("content-encoding")).toBe(name)
  const create =
    { br: zlib.createBrotliDecompress, gzip: zlib.createGunzip }[name] ?? Reflect.get(zlib, "createZstdDecompress")
  const decoder = create()
  let decoded = ""
  decoder.on("data", (part: Buffer) => {
    decoded += part
  })
  const reader = (body ?? expect.fail()).getReader()
  for (const chunk of ["one\n", "two\n", "three\n"]) {
    const before = decoded
    send(chunk)
    decoder.write((await reader.read()).value)
    await expect.poll(() => decoded).toBe(before + chunk)
  }
  end()
  const last = await reader.read()
  decoder.end(last.value)
  await new Promise((resolve) => decoder.once("end", resolve))
  expect([(await reader.read()).done, decoded]).toEqual([true, "one\ntwo\nthree\n"])
})

test("a stream that fails has no end: its bytes do not decode as a complete body", async () => {
  const { stream, send, fail } = source()
  const { body } = await streamed(accepting("gzip"), stream)
  const reader = (body ?? expect.fail()).getReader()
  send("one\n")
  const { value } = await reader.read()
  fail()
  await expect(reader.read()).rejects.toThrow("incomplete")
  expect(() => zlib.gunzipSync(value ?? Buffer.alloc(0))).toThrow("unexpected end of file")
})

test("half of the streams are compressed, and the others are sent as they are, until one ends or its client leaves", async () => {
  const open = async () => {
    const { stream, ...rest } = source()
    const { body, headers } = await streamed(accepting("gzip"), stream)
    return { ...rest, body, coding: headers.get("content-encoding") }
  }
  const streams = await Promise.all(Array.from({ length: maxCompressedStreams }, open))
  expect((await open()).coding).toBeNull()
  const [left, ended] = streams
  await left?.body?.cancel()
  expect(left?.isCanceled()).toBe(true)
  ended?.end()
  await ended?.body?.pipeTo(new WritableStream())
  const next = [await open(), await open()]
  expect(next.map(({ coding }) => coding)).toEqual(["gzip", "gzip"])
  for (const { body } of [...streams.slice(2), ...next]) await body?.cancel()
})

test("a HEAD request gets the coding of the stream and takes no place", async () => {
  for (let count = 0; count <= maxCompressedStreams; count++) {
    const { headers } = await streamed(accepting("br", "HEAD"), source().stream)
    expect(headers.get("content-encoding")).toBe("br")
  }
})
