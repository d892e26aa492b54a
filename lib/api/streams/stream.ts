import { resetConnection } from "@/lib/platform/http/responses"
import { type Cursor, openCursor } from "@/lib/platform/postgres/cursor"
import type { WithinDeadline } from "@/lib/platform/postgres/deadline"
import type { All } from "@/lib/platform/postgres/page"
import {
  type Chunks,
  isExiting,
  type NoSlot,
  retrySeconds,
  type StreamReader,
  type StreamSlot,
  takeSlot,
} from "@/lib/platform/queues/stream-slots"
import { type ErrorCode, errors, Refusal, refuseAs } from "../errors"
import { type Ending, refusalFor, type StreamedBody } from "../respond"
import { ours, type Said, said } from "../said"
import type { StreamFormat } from "./formats"

// Responses that are written as fast as their clients read. An incomplete one ends with a line that says why, or its
// connection is reset.

export type Reader = StreamReader & {
  request: Pick<Request, "method" | "headers" | "signal">
  requestId: string
  withinDeadline: WithinDeadline
  /** @throws Refusal if the reader may no longer read the rows */
  check: () => Promise<void>
}

type Streamed = {
  columns: readonly string[]
  all: () => Promise<All<unknown>>
  rowOf: (found: unknown) => Readonly<Record<string, unknown>>
}

/** A slower client would keep a slot from others. */
const minBytesPerSecond = 4_000

const streamTimes = {
  maxMs: 600_000,
  checkEveryMs: 5_000,
  /** TCP's buffers hold 90 seconds of data for a client at 16 KB/s. */
  paceMs: 120_000,
  lastLineMs: 5_000,
}

export function openStream(
  reader: Reader,
  format: StreamFormat,
  streamed: Streamed,
  times = streamTimes,
): Promise<StreamedBody> {
  return openChunks(reader, format.contentType, (maxMs) => chunksOfList(reader.id, format, streamed, maxMs), times)
}

/** Errors after the start end the stream. @throws Refusal if the reader has another one, or all slots are taken */
export async function openChunks(
  reader: Reader,
  contentType: string,
  open: (maxMs: number) => Promise<Chunks>,
  times = streamTimes,
): Promise<StreamedBody> {
  // Proxies must neither store nor compress it, nor read it faster than the client does.
  const headers = {
    "Content-Type": contentType,
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
  }
  if (reader.request.method === "HEAD") {
    return { stream: new ReadableStream(), ended: Promise.resolve({ rows: 0 }), headers }
  }
  const slot = takeSlot(reader)
  if (typeof slot === "string") return refuseSlot(slot)
  try {
    let opening: Promise<Chunks> | undefined
    const source = await reader
      .withinDeadline(() => {
        opening = open(times.maxMs)
        return opening
      })
      .catch((error) => {
        // It may still open after the deadline.
        opening?.then(({ abort }) => abort()).catch(() => {})
        throw error
      })
    if (isExiting()) {
      source.abort()
      return refuseSlot("exiting")
    }
    return { ...start(slot, source, reader, times), headers }
  } catch (error) {
    slot.leave()
    throw error
  }
}

export function refuseSlot(reason: NoSlot): never {
  switch (reason) {
    case "own":
      return refuseAs("rate_limited", said`Another stream is being read with this key or account. Finish it first.`, {
        "Retry-After": "5",
      })
    case "full":
      return refuseAs(
        "service_unavailable",
        said`The server is sending as many streams as it can. Try again in ${retrySeconds} seconds, or read pages with limit and cursor.`,
        { "Retry-After": String(retrySeconds) },
      )
    case "exiting":
      return refuseAs("service_unavailable", ours(exiting), { "Retry-After": "2" })
  }
}

const batch = 500

const exiting = "The server is being restarted. Start the stream again."

async function chunksOfList(
  reader: string,
  format: StreamFormat,
  { columns, all, rowOf }: Streamed,
  maxMs: number,
): Promise<Chunks> {
  const source = await openSource(reader, await all(), maxMs)
  let head = format.start(columns)
  let total = 0
  const next: Chunks["next"] = async () => {
    const found = await source.next()
    const isLast = found.length === 0
    if (isLast) await source.close()
    total += found.length
    const text = isLast ? format.end(total) : found.map((row) => format.row(rowOf(row), columns)).join("")
    const chunk = Buffer.from(head + text)
    head = ""
    return { chunk, rows: found.length, isLast }
  }
  return { next, abort: source.abort, ...(format.failure && { failure: format.failure }) }
}

async function openSource(reader: string, rows: All<unknown>, maxMs: number): Promise<Cursor> {
  if ("text" in rows) return (await openCursor(rows, reader, maxMs)) ?? refuseSlot("own")
  let read = 0
  const next = async () => {
    const found = rows.slice(read, read + batch)
    read += found.length
    return found
  }
  return { next, close: async () => {}, abort: () => {} }
}

function start(
  slot: StreamSlot,
  source: Chunks,
  { request, requestId, check }: Reader,
  { maxMs, checkEveryMs, paceMs, lastLineMs }: typeof streamTimes,
): Omit<StreamedBody, "headers"> {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let rows = 0
  let isOver = false
  let resolveEnded = (_ending: Ending) => {}
  const ended = new Promise<Ending>((resolve) => {
    resolveEnded = resolve
  })
  const pace = paceOf(paceMs)
  const checking = setInterval(() => {
    if (pace.isLost()) {
      const least = `${minBytesPerSecond / 1_000} KB per second at least, on average over ${paceMs / 60_000} minutes`
      fail(
        refusalOf(
          "stream_timeout",
          said`A stream must be read at ${ours(least)}. Read pages with limit and cursor instead.`,
        ),
      )
    } else check().catch(fail)
  }, checkEveryMs)
  const timeout = setTimeout(() => {
    const narrow = "Narrow it with since and until, or read pages with limit and cursor."
    fail(refusalOf("stream_timeout", said`A stream can take at most ${maxMs / 60_000} minutes. ${ours(narrow)}`))
  }, maxMs)

  const stream = new ReadableStream<Uint8Array>(
    {
      start(created) {
        controller = created
      },
      /** Reads a chunk when the client takes one, so that a paused client costs only its connections. */
      async pull() {
        try {
          pace.pause()
          const next = await source.next()
          if (isOver) return
          pace.resume(next.chunk.length)
          rows += next.rows
          // Before the client knows, so that it can start another stream at once.
          if (next.isLast) end()
          send(next.chunk)
          if (next.isLast) controller?.close()
        } catch (error) {
          fail(error)
        }
      },
      cancel: disconnect,
    },
    { highWaterMark: 0 },
  )
  // Next does not cancel the stream of a client that disconnects before it is sent.
  request.signal.addEventListener("abort", disconnect, { once: true })
  if (request.signal.aborted) disconnect()
  slot.end = () => {
    fail(refusalOf("service_unavailable", ours(exiting)))
    return ended
  }
  return { stream, ended }

  function send(chunk: Uint8Array): void {
    if (chunk.length > 0) controller?.enqueue(chunk)
  }

  function fail(error: unknown): void {
    if (isOver) return
    const { code, message } = refusalFor(error, requestId)
    end(code)
    const failure = source.failure?.(code, message)
    if (failure === undefined) {
      breakOff()
    } else {
      send(Buffer.from(failure))
      controller?.close()
      setTimeout(breakOff, lastLineMs).unref()
    }
  }

  /** Does nothing to a stream that was sent. */
  function breakOff(): void {
    // Next logs any other error as an error of the route.
    controller?.error(new DOMException("The stream is incomplete.", "AbortError"))
    resetConnection(request.headers)
  }

  function disconnect(): void {
    end("client_disconnected")
  }

  function end(code?: string): void {
    if (isOver) return
    isOver = true
    clearInterval(checking)
    clearTimeout(timeout)
    source.abort()
    slot.leave()
    resolveEnded({ rows, ...(code && { code }) })
  }
}

/** The average over a sliding window that each chunk advances. The time to read the next chunk does not count. */
function paceOf(windowMs: number) {
  let leftMs = windowMs
  let waitingSince: number | undefined = performance.now()
  return {
    isLost: () => waitingSince !== undefined && performance.now() - waitingSince > leftMs,
    pause(): void {
      if (waitingSince !== undefined) leftMs -= performance.now() - waitingSince
      waitingSince = undefined
    },
    resume(bytes: number): void {
      leftMs = Math.min(windowMs, leftMs + (bytes / minBytesPerSecond) * 1_000)
      waitingSince = performance.now()
    },
  }
}

function refusalOf(code: ErrorCode, message: Said): Refusal {
  return new Refusal(errors[code].status, code, message)
}
