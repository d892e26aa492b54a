import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { beforeAll, describe, expect, test } from "vitest"
import { db } from "@/lib/postgres/prisma"
import type { Listener } from "@/scripts/build-and-serve"
import { root } from "@/scripts/root"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { exchange, responsesIn, summaryOf } from "@/tests/support/raw-http"
import { startTestServer, type TestServer } from "@/tests/support/server"

// What a client can do with a connection that no library would: each line says what is sent and which answers come, all of
// them and nothing else. Time that runs out is in listener.test.ts.

type Line = readonly [what: string, sent: readonly string[], responses: readonly string[]]
type Difference = readonly [
  what: string,
  sent: readonly string[],
  lean: readonly string[],
  next: readonly string[],
  nextOnNode20?: readonly string[],
]

let servers: Record<Listener, TestServer>

/** Stands in what is sent for a key that works, and is as long. */
const key = "tsk_usr_".padEnd(57, "K")
const close = "Connection: close"
const body = '{"text":"a"}'
const chunked = `c\r\n${body}\r\n0\r\n\r\n`

function head(line: string, ...headers: string[]): string {
  return [line, "Host: a", `x-api-key: ${key}`, ...headers, "", ""].join("\r\n")
}

/** The last request of a connection. */
function last(target: string, ...headers: string[]): string {
  return head(`GET ${target} HTTP/1.1`, close, ...headers)
}

const me = last("/api/v1/me")

function run(headers: readonly string[], sent: string): string {
  return head("POST /api/v1/me/run HTTP/1.1", ...headers) + sent
}

const runEnding = (headers: readonly string[], sent: string) => run([close, ...headers], sent)

const answeredAlike: readonly Line[] = [
  ["a request", [me], ["200"]],
  ["two at once", [head("GET /api/v1/me HTTP/1.1"), last("/api/v1/me/orders")], ["200", "200"]],
  ["lines before it", [`\r\n\r\n${me}`], ["200"]],
  ["36 no Host", [`GET /api/v1/me HTTP/1.1\r\nx-api-key: ${key}\r\n\r\n`], ["400 without a body"]],
  ["36 two hosts", [last("/api/v1/me", "Host: evil.example")], ["200"]],
  [
    "36 hosts by proxies",
    [last("/api/v1/me", "X-Forwarded-Host: evil.example", "Forwarded: host=evil.example")],
    ["200"],
  ],
  ["HTTP/1.0", [`GET /api/v1/me HTTP/1.0\r\nx-api-key: ${key}\r\n\r\n`], ["200"]],
  ["HTTP/2.0 in a request line", [head("GET /api/v1/me HTTP/2.0", close)], ["200"]],
  ["13 the key twice", [last("/api/v1/me", `x-api-key: ${key}`)], ["401 unauthorized"]],
  [
    "9 a key in Latin-1",
    [`GET /api/v1/me HTTP/1.1\r\nHost: a\r\n${close}\r\nx-api-key: \xff\xfe\r\n\r\n`],
    ["401 unauthorized"],
  ],
  [
    "8 a key of 8 KB",
    [`GET /api/v1/me HTTP/1.1\r\nHost: a\r\n${close}\r\nx-api-key: tsk_usr_${"x".repeat(8_000)}\r\n\r\n`],
    ["401 unauthorized"],
  ],
  [
    "a header that names the key as one of the connection's",
    [head("GET /api/v1/me HTTP/1.1", "Connection: close, x-api-key")],
    ["200"],
  ],
  [
    "70 an expectation that nobody has",
    [runEnding(["Content-Length: 12", "Expect: 200-ok"], body)],
    ["417 without a body"],
  ],
  ["an expectation to go on", [runEnding(["Content-Length: 12", "Expect: 100-continue"], body)], ["200"]],
  [
    "69 a body for GET that is a request",
    [head("GET /api/v1/me HTTP/1.1", `Content-Length: ${me.length}`) + me, me],
    ["200", "200"],
  ],
  ["a chunk with an extension", [runEnding(["Transfer-Encoding: chunked"], `c;a=b\r\n${body}\r\n0\r\n\r\n`)], ["200"]],
  [
    "trailers that are headers",
    [runEnding(["Transfer-Encoding: chunked"], `c\r\n${body}\r\n0\r\nx-api-key: x\r\nIdempotency-Key: a b\r\n\r\n`)],
    ["200"],
  ],
  [
    "a header that only looks like one of framing",
    [runEnding(["Content-Length: 12", "Transfer_Encoding: chunked"], body)],
    ["200"],
  ],
  [
    "chunks that are said to be compressed",
    [runEnding(["Transfer-Encoding: gzip, chunked"], chunked)],
    ["400 bad_request"],
  ],
  ["34 a target of another host", [last("http://evil.example/api/v1/me")], ["404 not_found"]],
  ["34 a target of another scheme", [last("ftp://evil.example/api/v1/me")], ["404 not_found"]],
  ["34 its own address as the target", [last("http://a/api/v1/me")], ["404 not_found"]],
  ["* for everything", [head("OPTIONS * HTTP/1.1", close)], ["404 not_found"]],
  ["32 //", [last("//api/v1/me")], ["404 not_found"]],
  ["32 // and a host", [last("//evil.example/api/v1/me")], ["404 not_found"]],
  ["32 /// and a host", [last("///evil.example/%2e%2e")], ["404 not_found"]],
  ["32 // within", [last("/api//v1/me")], ["308 to /api/v1/me"]],
  ["32 // before the end", [last("/api/v1//me")], ["308 to /api/v1/me"]],
  ["32 a slash at the end", [last("/api/v1/me/")], ["200"]],
  [
    "32 a slash at the end, and no key",
    [`GET /api/v1/me/ HTTP/1.1\r\nHost: a\r\n${close}\r\n\r\n`],
    ["401 unauthorized"],
  ],
  ["32 backslashes", [last("/api\\v1\\me")], ["308 to /api/v1/me"]],
  ["32 a backslash and a host", [last("/\\evil.example/")], ["308 to /evil.example/"]],
  ["33 dots", [last("/api/v1/nothing/../me")], ["200"]],
  ["33 dots into the other surface", [last("/api/v1/me/../admin/users")], ["403 wrong_scope"]],
  ["33 encoded dots into the other surface", [last("/api/v1/me/%2e%2e/admin/users")], ["403 wrong_scope"]],
  ["33 dots above the root", [last("/../../../etc/passwd")], ["404 without the envelope"]],
  ["26 an encoded slash", [last("/api/v1%2fme")], ["404 not_found"]],
  ["an encoded letter", [last("/api/v1/%6de")], ["404 not_found"]],
  ["a letter encoded twice", [last("/api/v1/%256de")], ["404 not_found"]],
  ["26 %zz", [last("/api/v1/%zz")], ["404 not_found"]],
  ["26 %ff", [last("/api/v1/%ff")], ["404 not_found"]],
  ["26 %00", [last("/api/v1/me%00")], ["404 not_found"]],
  ["encoded line breaks", [last("/api/v1/me%0d%0aX-Injected:%20yes")], ["404 not_found"]],
  ["35 .rsc", [last("/api/v1/me.rsc")], ["404 not_found"]],
  [
    ".rsc, which runs nothing",
    [head("POST /api/v1/me/run.rsc HTTP/1.1", close, "Content-Length: 12") + body],
    ["404 not_found"],
  ],
  ["35 _rsc", [last("/api/v1/me?_rsc=1")], ["400 bad_request"]],
  ["Next's own place of data", [last("/_next/data/x/api/v1/me.json")], ["404 without the envelope"]],
  [
    "35 the headers of rendering",
    [last("/api/v1/me", "RSC: 1", "Next-Router-State-Tree: []", "Next-Router-Prefetch: 1")],
    ["200"],
  ],
  ["35 an action", [runEnding(["Next-Action: x", "Content-Length: 12"], body)], ["200"]],
  [
    "35 headers that pass middleware",
    [last("/api/v1/me", `x-middleware-subrequest: ${"proxy:".repeat(5)}`, "x-nextjs-data: 1")],
    ["200"],
  ],
  [
    "35 headers that name another path",
    [
      last(
        "/api/v1/me",
        ...["x-matched-path", "x-invoke-path", "x-original-url", "x-rewrite-url"].map(
          (name) => `${name}: /api/v1/admin/users`,
        ),
      ),
    ],
    ["200"],
  ],
  [
    "37 headers that name another method",
    [
      last(
        "/api/v1/me",
        ...["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"].map((name) => `${name}: DELETE`),
      ),
    ],
    ["200"],
  ],
  ["a parameter of its path", [last("/api/v1/me;a=b")], ["404 not_found"]],
  ["a fragment", [last("/api/v1/me#x")], ["200"]],
  ["two spaces before the target", [last(" /api/v1/me")], ["200"]],
]

/** What is not HTTP, and what is answered: in the envelope by our listener, without a body by Next alone. */
const noHttp: readonly [what: string, sent: string, response: string][] = [
  ["nonsense", "\x00\x01\x02\x03\r\n\r\n", "400 bad_request"],
  ["the beginning of TLS", "\x16\x03\x01\x00\xf5\x01\x00\x00\xf1\x03\x03", "400 bad_request"],
  ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400 bad_request"],
  ["HTTP/1.2", head("GET /api/v1/me HTTP/1.2"), "400 bad_request"],
  ["a method that is none", head("HACK /api/v1/me HTTP/1.1"), "400 bad_request"],
  ["a method in small letters", head("get /api/v1/me HTTP/1.1"), "400 bad_request"],
  ["a target without a slash", head("GET api/v1/me HTTP/1.1"), "400 bad_request"],
  ["a target that is a host", head("GET a:80 HTTP/1.1"), "400 bad_request"],
  ["a space in a target", head("GET /api/v1/me x HTTP/1.1"), "400 bad_request"],
  ["tabs for spaces", head("GET\t/api/v1/me\tHTTP/1.1"), "400 bad_request"],
  ["a target in Latin-1", head("GET /api/v1/m\xe9 HTTP/1.1"), "400 bad_request"],
  ["a target in UTF-8", head("GET /api/v1/m\xc3\xa9 HTTP/1.1"), "400 bad_request"],
  ["a query in Latin-1", head("GET /api/v1/me/orders?limit=\xe9 HTTP/1.1"), "400 bad_request"],
  ["10 lines that end with LF", me.replaceAll("\r", ""), "400 bad_request"],
  ["CR in a header", last("/api/v1/me", "X-A: a\rb"), "400 bad_request"],
  ["10 NUL in a header", last("/api/v1/me", "X-A: a\0b"), "400 bad_request"],
  ["a folded header", last("/api/v1/me", "X-A: a\r\n b"), "400 bad_request"],
  ["10 a folded key", `GET /api/v1/me HTTP/1.1\r\nHost: a\r\nx-api-key:\r\n ${key}\r\n\r\n`, "400 bad_request"],
  ["10 a space before a colon", last("/api/v1/me", "X-A : b"), "400 bad_request"],
  ["a header without a colon", last("/api/v1/me", "X-A"), "400 bad_request"],
  ["a header's name in Latin-1", last("/api/v1/me", "X-\xff: a"), "400 bad_request"],
  ["8 a header of 17 KB", last("/api/v1/me", `X-A: ${"x".repeat(17_000)}`), "431 headers_too_large"],
  [
    "3,000 headers",
    last("/api/v1/me", ...Array.from({ length: 3_000 }, (_, n) => `X${n}: 1`)),
    "431 headers_too_large",
  ],
  ["52 a query of 17 KB", last(`/api/v1/me/orders?limit=${"1".repeat(17_000)}`), "431 headers_too_large"],
  [
    "69 a length and chunks",
    run(["Content-Length: 12", "Transfer-Encoding: chunked"], `0\r\n\r\n${me}`),
    "400 bad_request",
  ],
  [
    "chunks and a length",
    run(["Transfer-Encoding: chunked", "Content-Length: 5"], `0\r\n\r\n${me}`),
    "400 bad_request",
  ],
  ["69 two lengths", run(["Content-Length: 12", "Content-Length: 13"], body + me), "400 bad_request"],
  ["one length twice", run(["Content-Length: 12", "Content-Length: 12"], body + me), "400 bad_request"],
  ["a list of lengths", run(["Content-Length: 12, 12"], body), "400 bad_request"],
  ["69 a length below nothing", run(["Content-Length: -1"], body), "400 bad_request"],
  ["a length with a sign", run(["Content-Length: +12"], body), "400 bad_request"],
  ["a length in hexadecimal", run(["Content-Length: 0xc"], body), "400 bad_request"],
  ["a length beyond all", run(["Content-Length: 99999999999999999999"], body), "400 bad_request"],
  ["a length of no digit", run(["Content-Length: "], body), "400 bad_request"],
  ["69 a chunk that is none", run(["Transfer-Encoding: chunked"], "zz\r\n"), "400 bad_request"],
  ["a chunk below nothing", run(["Transfer-Encoding: chunked"], "-1\r\na\r\n0\r\n\r\n"), "400 bad_request"],
  ["a chunk beyond all", run(["Transfer-Encoding: chunked"], "fffffffffffffffff\r\na\r\n"), "400 bad_request"],
  ["a chunk longer than it says", run(["Transfer-Encoding: chunked"], `1\r\n${body}\r\n0\r\n\r\n`), "400 bad_request"],
  ["chunks whose lines end with LF", run(["Transfer-Encoding: chunked"], `c\n${body}\n0\n\n`), "400 bad_request"],
  [
    "a chunk with an extension of 20 KB",
    run(["Transfer-Encoding: chunked"], `c;a=${"x".repeat(20_000)}\r\n`),
    "413 payload_too_large",
  ],
  ["69 chunks of another kind", run(["Transfer-Encoding: xchunked"], chunked), "400 bad_request"],
  ["chunks that are not the last encoding", run(["Transfer-Encoding: chunked, gzip"], chunked), "400 bad_request"],
  [
    "chunks within chunks",
    run(["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], chunked),
    "400 bad_request",
  ],
  ["an encoding that is none", run(["Transfer-Encoding: identity"], body), "400 bad_request"],
  ["chunks behind a space", run(["Content-Length: 12", "Transfer-Encoding : chunked"], body), "400 bad_request"],
]

/** What breaks off: its client sends no more, and waits for an answer. */
const brokenOff: readonly [what: string, sent: string][] = [
  ["half a request line", "GET /api/v1/me HTT"],
  ["a line of HTTP/0.9", "GET /api/v1/me\r\n"],
  ["half a head", "GET /api/v1/me HTTP/1.1\r\nHost: a\r\n"],
  ["58 half a body", run(["Content-Length: 50"], body)],
  ["58 chunks without the last", run(["Transfer-Encoding: chunked"], `c\r\n${body}\r\n`)],
]

/** Where Next alone answers otherwise than our listener. docs/listeners.md has these lines, word for word. */
const differences: readonly Difference[] = [
  ["what is not HTTP", [last("/api/v1/me", "X-A: a\0b")], ["400 bad_request"], ["400 without a body"]],
  [
    "a head above 16 KiB",
    [last("/api/v1/me", `X-A: ${"x".repeat(17_000)}`)],
    ["431 headers_too_large"],
    ["431 without a body"],
  ],
  [
    "what is not HTTP, behind a run",
    [run(["Content-Length: 12"], `${body}nonsense\r\n\r\n`)],
    ["200", "400 bad_request"],
    ["400 without a body"],
  ],
  ["31 `TRACE`", [head("TRACE /api/v1/me HTTP/1.1", close)], ["405 method_not_allowed"], ["500 without the envelope"]],
  [
    "`PROPFIND` and the like",
    [head("PROPFIND /api/v1/me HTTP/1.1", close)],
    ["405 method_not_allowed"],
    ["400 without a body"],
  ],
  ["`CONNECT`", [head("CONNECT a:443 HTTP/1.1") + me], ["405 method_not_allowed"], []],
  [
    "`Upgrade: websocket`",
    [head("GET /api/v1/me HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket") + me],
    ["200"],
    [],
  ],
  [
    "`Upgrade: h2c`",
    [
      head(
        "GET /api/v1/me HTTP/1.1",
        "Connection: Upgrade, HTTP2-Settings",
        "HTTP2-Settings: AAMAAABkAAQAAP__",
        "Upgrade: h2c",
      ),
    ],
    ["200"],
    [],
  ],
  [
    "12 two `Authorization`, the first of which works",
    [
      `GET /api/v1/me HTTP/1.1\r\nHost: a\r\n${close}\r\nAuthorization: Bearer ${key}\r\nAuthorization: Bearer x\r\n\r\n`,
    ],
    ["401 unauthorized"],
    ["200"],
  ],
  [
    "a header 1,500 times",
    [last("/api/v1/me", ...Array.from({ length: 1_500 }, () => "a: 1"))],
    ["200"],
    ["431 without a body"],
    ["200"],
  ],
  [
    "a key behind 2,000 other headers",
    [`GET /api/v1/me HTTP/1.1\r\nHost: a\r\n${close}\r\n${"a:1\r\n".repeat(2_000)}x-api-key: ${key}\r\n\r\n`],
    ["200"],
    ["431 without a body"],
    ["401 unauthorized"],
  ],
  ["26 `/API/v1/me`", [last("/API/v1/me")], ["404 not_found"], ["404 without the envelope"]],
  ["44 `?__proto__=1`", [last("/api/v1/me?__proto__=1")], ["400 bad_request"], ["200"]],
  ["`Accept-Encoding: gzip`", [last("/api/v1/openapi.json", "Accept-Encoding: gzip")], ["200"], ["200 in gzip"]],
]

/** An account that has a key and credits. */
async function customer() {
  const user = await createUser({ role: "owner" })
  await grantCredits(user.id, 10_000)
  return { id: user.id, secret: (await createKey({ user, surface: "user" })).secret }
}

let caller: Awaited<ReturnType<typeof customer>>

beforeAll(async () => {
  servers = { lean: await startTestServer("lean"), next: await startTestServer("next") }
  return () => Promise.all(Object.values(servers).map(({ stop }) => stop()))
})

beforeAll(async () => {
  caller = await customer()
})

/** The answers that come, each as its status and what else matters of it. */
async function answersOf(listener: Listener, sent: readonly string[], end = false): Promise<string[]> {
  const parts = sent.map((part) => part.replaceAll(key, caller.secret))
  return responsesIn(await exchange(servers[listener].port, parts, end)).map(summaryOf)
}

describe.each<Listener>(["lean", "next"])("%s answers", (listener) => {
  test.each(answeredAlike)("%s", async (_what, sent, responses) => {
    expect(await answersOf(listener, sent)).toEqual(responses)
  })

  test.each(noHttp)("%s as what is not HTTP, once, and closes the connection", async (_what, sent, response) => {
    expect(await answersOf(listener, [sent])).toEqual([expected(listener, response)])
  })

  test.each(brokenOff)("%s once, and closes the connection", async (_what, sent) => {
    expect(await answersOf(listener, [sent], true)).toEqual([expected(listener, "400 bad_request")])
  })

  test("nothing of what is not HTTP with a run", async () => {
    const before = await db().run.count({ where: { userId: caller.id } })
    for (const [, sent] of [...noHttp, ...brokenOff]) await answersOf(listener, [sent], true)
    expect(await db().run.count({ where: { userId: caller.id } })).toBe(before)
  })
})

function expected(listener: Listener, response: string): string {
  return listener === "lean" ? response : response.replace(/ .*/, " without a body")
}

describe("Next alone differs for", () => {
  test.each(differences.map((row) => [row[0], row] as const))("%s", async (_what, row) => {
    const [, sent, lean, next, nextOnNode20 = next] = row
    expect(await answersOf("lean", sent)).toEqual(lean)
    expect(await answersOf("next", sent)).toEqual(process.version.startsWith("v20.") ? nextOnNode20 : next)
  })

  test("what docs/listeners.md says, and nothing else", async () => {
    const document = await readFile(join(root, "docs/listeners.md"), "utf8")
    const lines = document.split("\n").filter((line) => line.startsWith("| "))
    const cells = lines.map((line) =>
      line
        .slice(2, -2)
        .split("|")
        .map((cell) => cell.trim()),
    )
    const said = (responses: readonly string[]) => responses.join(", ") || "nothing"
    expect(cells.slice(2)).toEqual(
      differences.map(([what, , lean, next, nextOnNode20]) => [
        what.replace(/^\d+ /, ""),
        said(lean),
        said(next) + (nextOnNode20 ? `; on Node 20: ${said(nextOnNode20)}` : ""),
      ]),
    )
  })
})
