import type { ErrorCode } from "@/lib/api/errors"
import { type Counts, countsInWords } from "@/lib/api/result-words"
import { inCredits } from "@/lib/credits/words"
import { product } from "@/lib/product"

export type ApiResponse = { status: number; headers: Headers; text: string }

/** Without `href`, the step is a sentence: the viewer stays on the page. */
export type NextStep = { label: string; href?: string }

export type Outcome = { isGood: boolean; words: string; next?: NextStep | undefined; requestId: string | null }

/** A new key, and the page of its list. */
export type NewKey = { id: string; page: string }

/** @param response undefined after a lost connection */
export function outcomeOf(response: ApiResponse | undefined, counts: Counts, key: NewKey): Outcome {
  if (!response) return noResponse
  const { status, headers } = response
  const { data, error, result } = bodyOf(response)
  const requestId = headers.get("X-Request-Id")
  if (status === 200)
    return { isGood: true, words: data ? resultInWords(data, headers, counts) : worksWith(result?.tools), requestId }
  const message = error?.message ?? "the call failed"
  const [, paymentPage] = /^<([^>]+)>; rel="payment"$/.exec(headers.get("Link") ?? "") ?? []
  const failed = { message, retryAfter: headers.get("Retry-After"), paymentPage, key }
  return { isGood: false, words: `Status ${status}: ${message}`, next: nextStepAfter(error?.code, failed), requestId }
}

const works = "Status 200: the key works"

function worksWith(tools?: readonly { name: string }[]): string {
  return tools ? `${works} · tools: ${tools.map(({ name }) => name).join(", ")}` : works
}

const noResponse: Outcome = {
  isGood: false,
  words: "No response: the server could not be reached.",
  next: { label: "Check your connection, then run the call again: it is never charged twice." },
  requestId: null,
}

type Body = {
  data?: { cost?: number; balance?: number; result?: Readonly<Record<string, unknown>> }
  error?: { code: string; message: string }
  result?: { tools?: readonly { name: string }[] }
}

function bodyOf({ text }: ApiResponse): Body {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

function resultInWords({ cost, balance, result }: NonNullable<Body["data"]>, headers: Headers, counts: Counts): string {
  if (cost === undefined || balance === undefined) return works
  const price =
    headers.get("Idempotency-Replayed") === "true"
      ? [`nothing charged: this repeats a call that cost ${inCredits(cost)}`]
      : [inCredits(cost), `${balance.toLocaleString("en")} left`]
  return [...countsInWords(counts, result ?? {}), ...price].join(" · ")
}

type Failed = { message: string; retryAfter: string | null; paymentPage: string | undefined; key: NewKey }

const edit = (label: string, { id, page }: NewKey): NextStep => ({ label, href: `${page}?change=${id}` })
const create = (label: string, { page }: NewKey): NextStep => ({ label, href: `${page}?new` })
const again = ({ retryAfter }: Failed): NextStep => ({ label: `Wait ${retryAfter ?? 2} seconds, then run it again.` })
const contact = (): NextStep => ({ label: `Contact ${product.supportEmail}`, href: `mailto:${product.supportEmail}` })

/** For each error of a call with a new key. */
const nextSteps: { readonly [Code in ErrorCode]?: (failed: Failed) => NextStep } = {
  bad_request: () => ({ label: "Change the body, then run it again." }),
  unauthorized: ({ key }) => create("Create another key", key),
  insufficient_credits: ({ paymentPage }) => ({ label: "Add credits", href: paymentPage ?? "/docs#credits" }),
  key_limit_reached: ({ key }) => edit("Raise the spending limit of this key", key),
  wrong_scope: ({ key }) => create("Create another key", key),
  forbidden: contact,
  missing_scope: ({ key }) => create("Create a key with this permission", key),
  address_not_allowed: ({ message, key }) => edit(`Add ${addressIn(message)} to this key`, key),
  idempotency_in_progress: again,
  payload_too_large: () => ({ label: "Shorten the body, then run it again." }),
  idempotency_mismatch: () => ({ label: "Change the body, then run it again." }),
  rate_limited: again,
  internal: contact,
  service_unavailable: again,
}

function nextStepAfter(code: string | undefined, failed: Failed): NextStep | undefined {
  return code && Object.hasOwn(nextSteps, code) ? nextSteps[code as ErrorCode]?.(failed) : undefined
}

/** Only the API knows from which address a call came. */
function addressIn(message: string): string {
  return /\bfrom ([\da-f.:]+): /i.exec(message)?.[1] ?? "your address"
}
