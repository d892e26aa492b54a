import {
  conventions,
  meteredHeaders,
  paymentHeaders,
  readHeaders,
  replacedHeaders,
  responseHeaders,
  retryable,
  retryHeaders,
} from "@/lib/api/documents/document"
import { maxReportedKeys } from "@/lib/leaks/leak-report"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { keyVariable } from "@/lib/product"

// The sections of the documents that are not generated from an endpoint: in the contents, on their page, and in the search.

export type DocumentSection = {
  id: string
  title: string
  /** Its paragraphs, with `code` and **strong** text. */
  text: readonly string[]
  /** Other words that lead to it. */
  words: string
}

/** Of responses, with their meaning. */
export const headers: Readonly<Record<string, string>> = {
  ...responseHeaders,
  ...retryHeaders,
  ...meteredHeaders,
  ...replacedHeaders,
  ...paymentHeaders,
  ...readHeaders,
}

const inCode = (code: string) => `\`${code}\``

export const quickstart = [
  {
    id: "key",
    title: "Get a key",
    text: [
      `Create a key: it is shown once. Put it into the environment variable \`${keyVariable}\`, from which all requests in these documents read it. \`read -rs\` keeps it out of the shell history.`,
    ],
    words: "start begin first install setup tutorial getting started sign up",
  },
  {
    id: "call",
    title: "Make a call",
    text: [],
    words: "start first request hello",
  },
  {
    id: "error",
    title: "Read an error",
    text: [
      "Read `code` in your program, and show `message` to people: it states the reason. An error is never charged. The header `X-Request-Id` identifies the request when you ask about it.",
    ],
    words: "failure debug",
  },
  {
    id: "retry",
    title: "Retry safely",
    text: [
      "A response can get lost after the call was charged. Generate a new `Idempotency-Key` for each call, and send the same one with each retry of it: the call is charged once.",
    ],
    words: "again lost response timeout double charge",
  },
] as const satisfies readonly DocumentSection[]

export const guides = [
  {
    id: "authentication",
    title: "Authentication",
    text: [
      "Send your API key with each request, in the header `Authorization: Bearer <API_KEY>` or `x-api-key: <API_KEY>`. Keys in URLs are rejected.",
      "Every request checks the key and its owner, so a revoked key, a closed account or a changed role takes effect on the next request.",
      `The example requests read the key from the environment variable \`${keyVariable}\`. \`read -rs\` sets it without writing the key to the shell history.`,
    ],
    words: "auth authorize login bearer token header x-api-key credentials 401 unauthorized close delete ban account",
  },
  {
    id: "keys",
    title: "Limits and rotation of keys",
    text: [conventions.keys, conventions.rotation],
    words: "scope permission expiry expire revoke rotate replace ip address allowlist spending budget",
  },
  {
    id: "responses",
    title: "Responses and headers",
    text: [conventions.envelope, "Responses have these headers:"],
    words: "envelope json object data meta request id support",
  },
  {
    id: "errors",
    title: "Errors",
    text: [
      conventions.errors,
      `Errors with the code ${retryable.map(inCode).join(", ")} are temporary: repeat the request after the seconds in \`Retry-After\`.`,
    ],
    words: "failure status code exception problem",
  },
  {
    id: "idempotency",
    title: "Idempotency",
    text: [conventions.idempotency],
    words: "retry retries again duplicate double charge twice once safe lost response timeout replay",
  },
  {
    id: "pagination",
    title: "Pagination",
    text: [
      conventions.walk,
      conventions.bounds,
      conventions.strict,
      "All lists accept these parameters. Some lists also accept filters.",
    ],
    words: "paging page cursor offset limit next list all rows iterate loop filter sort order poll polling",
  },
  {
    id: "streams",
    title: "Streams and CSV",
    text: [conventions.stream],
    words: "export download data bulk snapshot ndjson jsonl csv excel spreadsheet file",
  },
  {
    id: "money-and-times",
    title: "Amounts and times",
    text: [conventions.money, conventions.times],
    words: "money price currency cents minor units date time zone timestamp utc iso epoch uuid id",
  },
  {
    id: "credits",
    title: "Credits",
    text: [
      conventions.metered,
      "The field `neededForCall` has the balance that a call needs: in `meta` of the credit ledger, and among the limits of the calling key.",
    ],
    words: "billing pay payment cost charge price balance top up add buy plan invoice",
  },
  {
    id: "rate-limit",
    title: "Rate limits",
    text: [conventions.rate],
    words: "ratelimit throttle throttling quota too many requests 429 concurrency",
  },
  {
    id: "untrusted-text",
    title: "Untrusted text",
    text: [conventions.untrusted],
    words: "prompt injection security escape xss html",
  },
  {
    id: "versions",
    title: "Versions",
    text: [
      "The version is in the path: `/api/v1`. New endpoints, parameters, fields and error codes are added to it, so ignore names that you do not know. A change that breaks clients gets a new path.",
    ],
    words: "version versioning v1 v2 upgrade deprecated deprecation changelog breaking compatibility",
  },
  {
    id: "for-machines",
    title: "For agents and tools",
    text: ["The same documents for programs:"],
    words: "openapi swagger llms skill agent ai machine readable generate client library sdk postman",
  },
] as const satisfies readonly DocumentSection[]

export const leaks = [
  {
    id: "report",
    title: "Report keys",
    text: [
      `You need no account and no key. One report can contain up to ${maxReportedKeys} keys. The response is always 202 with the same body, regardless of the keys. It is 429 after ${limits.leakReportsAddress.tokens} reports from one IP address within an hour, with \`Retry-After\`.`,
    ],
    words: "leak leaked published compromised stolen security",
  },
  {
    id: "what-happens",
    title: "What happens",
    text: [
      "Within seconds, each key that works is revoked, together with the key that it has replaced if that one still works. Its owner gets one email, with a link to the report of the key. Nothing else happens: other texts, and keys that no longer work, are ignored.",
    ],
    words: "",
  },
  { id: "your-own-key", title: "If the key is yours", text: [], words: "revoke rotate leaked" },
  {
    id: "scanners",
    title: "For scanners",
    text: ["A rule for gitleaks:"],
    words: "secret scanning gitleaks github pattern regex",
  },
  { id: "vulnerabilities", title: "Vulnerabilities", text: [], words: "security disclosure bug bounty" },
] as const satisfies readonly DocumentSection[]
