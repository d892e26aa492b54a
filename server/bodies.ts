import type { IncomingMessage } from "node:http"
import { pageAfter } from "@/lib/pictures/upload"
import { isOfApi } from "@/lib/platform/http/api-path"
import { maxBytesOf, tooLarge, uploadPath } from "@/lib/platform/http/body-limits"
import { overloaded } from "@/lib/platform/postgres/load-shedding"
import { clientAddress, socketAddressHeader } from "@/lib/platform/rate-limit/client-address"

// Next reads the body of a page request into memory before the product's code runs. The API reads its bodies itself.

/** Bodies that are arriving. A client that sends one byte at a time holds a place until the request times out. */
const maxOfAddress = 4
const maxOfProcess = 64

export class Bodies {
  readonly #unfinished = new Map<string, number>()
  #total = 0

  /** @param exceeded called when a body without a length exceeds its limit */
  refusalOf(request: IncomingMessage, exceeded: (maxBytes: number) => void): Response | undefined {
    const { method = "", url = "", headers } = request
    const [path = ""] = url.split("?", 1)
    if (isOfApi(path) || !hasBody(request)) return undefined
    const maxBytes = maxBytesOf(method, path)
    const length = Number(headers["content-length"] ?? 0)
    // Node 22 buffers 64 KiB before anybody reads, so a body without a length can exceed its limit by now.
    if (Math.max(length, request.readableLength) > maxBytes || maxBytes === 0) return refusalBySize(path)
    const refusal = request.complete ? undefined : this.#refusalByPlace(request)
    if (refusal) return refusal
    if (length === 0) countBytes(request, maxBytes, exceeded)
    return undefined
  }

  #refusalByPlace(request: IncomingMessage): Response | undefined {
    const address = addressOf(request)
    const unfinished = this.#unfinished.get(address) ?? 0
    if (unfinished >= maxOfAddress) return text(429, "Too many forms are being sent from here. Try again in a moment.")
    if (this.#total >= maxOfProcess) return text(503, overloaded.message)
    this.#unfinished.set(address, unfinished + 1)
    this.#total++
    const end = () => {
      request.off("end", end).off("close", end)
      this.#total--
      const left = (this.#unfinished.get(address) ?? 1) - 1
      if (left === 0) this.#unfinished.delete(address)
      else this.#unfinished.set(address, left)
    }
    request.on("end", end).on("close", end)
    return undefined
  }
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0
}

function refusalBySize(path: string): Response {
  if (path === uploadPath) return new Response(null, { status: 303, headers: { Location: pageAfter("too_large") } })
  return text(413, tooLarge)
}

export function text(status: number, message: string): Response {
  const retry = status === 413 ? undefined : { "Retry-After": "2" }
  return new Response(message, { status, headers: { "Content-Type": "text/plain", ...retry } })
}

/** Node pushes each part that arrives into the request. */
function countBytes(request: IncomingMessage, maxBytes: number, exceeded: (maxBytes: number) => void): void {
  const { push } = request
  let bytes = request.readableLength
  request.push = (chunk, encoding) => {
    bytes += chunk?.length ?? 0
    if (bytes <= maxBytes) return push.call(request, chunk, encoding)
    exceeded(maxBytes)
    return false
  }
}

export function addressOf({ headers }: IncomingMessage): string {
  const { "x-forwarded-for": forwarded, [socketAddressHeader]: socket } = headers
  const given = { "x-forwarded-for": forwarded, [socketAddressHeader]: socket }
  return clientAddress(new Headers(Object.entries(given).map(([name, value]) => [name, String(value ?? "")])))
}
