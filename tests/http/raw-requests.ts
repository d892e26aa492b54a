import { kinds } from "@/lib/surfaces"
import { work } from "@/tests/support/work"

// The bytes that raw connections send, with the expected responses. raw-sockets.test.ts sends the bytes to which both
// listeners respond alike, listeners-agree.test.ts the differences.

type Row = readonly [name: string, sent: readonly string[], responses: readonly string[]]
type Difference = readonly [
  name: string,
  sent: readonly string[],
  lean: readonly string[],
  next: readonly string[],
  nextOnNode20?: readonly string[],
]

/** A placeholder of the same length as a key, replaced by a valid key before it is sent. */
export const key = kinds.user.prefix + "K".repeat(49)
const close = "Connection: close"
const { body, path } = work
const length = `Content-Length: ${body.length}`
const chunkSize = body.length.toString(16)
const chunked = `${chunkSize}\r\n${body}\r\n0\r\n\r\n`

function request(requestLine: string, ...headers: string[]): string {
  return [requestLine, "Host: a", `x-api-key: ${key}`, ...headers, "", ""].join("\r\n")
}

/** A request that closes its connection. */
function last(target: string, ...headers: string[]): string {
  return request(`GET ${target} HTTP/1.1`, close, ...headers)
}

const me = last("/api/v1/me")

function run(headers: readonly string[], sent: string): string {
  return request(`POST ${path} HTTP/1.1`, ...headers) + sent
}

const runEnding = (headers: readonly string[], sent: string) => run([close, ...headers], sent)

export const sameResponses: readonly Row[] = [
  ["a request", [me], ["200"]],
  ["two pipelined requests", [request("GET /api/v1/me HTTP/1.1"), last("/api/v1/me/orders")], ["200", "200"]],
  ["a request after empty lines", [`\r\n\r\n${me}`], ["200"]],
  ["no Host", [`GET /api/v1/me HTTP/1.1\r\nx-api-key: ${key}\r\n\r\n`], ["400 without a body"]],
  ["two Host headers", [last("/api/v1/me", "Host: evil.example")], ["200"]],
  [
    "the host headers of proxies",
    [last("/api/v1/me", "X-Forwarded-Host: evil.example", "Forwarded: host=evil.example")],
    ["200"],
  ],
  ["HTTP/1.0", [`GET /api/v1/me HTTP/1.0\r\nx-api-key: ${key}\r\n\r\n`], ["200"]],
  ["HTTP/2.0 in a request line", [request("GET /api/v1/me HTTP/2.0", close)], ["200"]],
  ["a repeated x-api-key header", [last("/api/v1/me", `x-api-key: ${key}`)], ["401 unauthorized"]],
  [
    "a key in Latin-1",
    [`GET /api/v1/me HTTP/1.1\r\nHost: a\r\n${close}\r\nx-api-key: \xff\xfe\r\n\r\n`],
    ["401 unauthorized"],
  ],
  [
    "a key of 8 KB",
    [`GET /api/v1/me HTTP/1.1\r\nHost: a\r\n${close}\r\nx-api-key: ${kinds.user.prefix}${"x".repeat(8_000)}\r\n\r\n`],
    ["401 unauthorized"],
  ],
  [
    "a Connection header that lists x-api-key",
    [request("GET /api/v1/me HTTP/1.1", "Connection: close, x-api-key")],
    ["200"],
  ],
  ["an unknown Expect value", [runEnding([length, "Expect: 200-ok"], body)], ["417 without a body"]],
  ["Expect: 100-continue", [runEnding([length, "Expect: 100-continue"], body)], ["200"]],
  [
    "a GET body that looks like a request",
    [request("GET /api/v1/me HTTP/1.1", `Content-Length: ${me.length}`) + me, me],
    ["200", "200"],
  ],
  [
    "a chunk with an extension",
    [runEnding(["Transfer-Encoding: chunked"], `${chunkSize};a=b\r\n${body}\r\n0\r\n\r\n`)],
    ["200"],
  ],
  [
    "trailers with the names of headers",
    [
      runEnding(
        ["Transfer-Encoding: chunked"],
        `${chunkSize}\r\n${body}\r\n0\r\nx-api-key: x\r\nIdempotency-Key: a b\r\n\r\n`,
      ),
    ],
    ["200"],
  ],
  ["a header name similar to Transfer-Encoding", [runEnding([length, "Transfer_Encoding: chunked"], body)], ["200"]],
  [
    "chunks that are declared as compressed",
    [runEnding(["Transfer-Encoding: gzip, chunked"], chunked)],
    ["400 bad_request"],
  ],
  ["an absolute target with another host", [last("http://evil.example/api/v1/me")], ["404 not_found"]],
  ["an absolute target with another scheme", [last("ftp://evil.example/api/v1/me")], ["404 not_found"]],
  ["an absolute target with the server's own host", [last("http://a/api/v1/me")], ["404 not_found"]],
  ["OPTIONS *", [request("OPTIONS * HTTP/1.1", close)], ["404 not_found"]],
  ["a path that starts with //", [last("//api/v1/me")], ["404 not_found"]],
  ["// followed by a host", [last("//evil.example/api/v1/me")], ["404 not_found"]],
  ["/// followed by a host", [last("///evil.example/%2e%2e")], ["404 not_found"]],
  ["// inside the path", [last("/api//v1/me")], ["308 to /api/v1/me"]],
  ["// before the last segment", [last("/api/v1//me")], ["308 to /api/v1/me"]],
  ["a trailing slash", [last("/api/v1/me/")], ["200"]],
  ["a trailing slash without a key", [`GET /api/v1/me/ HTTP/1.1\r\nHost: a\r\n${close}\r\n\r\n`], ["401 unauthorized"]],
  ["backslashes in the path", [last("/api\\v1\\me")], ["308 to /api/v1/me"]],
  ["a backslash followed by a host", [last("/\\evil.example/")], ["308 to /evil.example/"]],
  ["dot segments", [last("/api/v1/nothing/../me")], ["200"]],
  ["dot segments into the other surface", [last("/api/v1/me/../admin/users")], ["403 wrong_scope"]],
  ["encoded dot segments into the other surface", [last("/api/v1/me/%2e%2e/admin/users")], ["403 wrong_scope"]],
  ["dot segments above the root", [last("/../../../etc/passwd")], ["404 without the envelope"]],
  ["an encoded slash", [last("/api/v1%2fme")], ["404 not_found"]],
  ["an encoded letter", [last("/api/v1/%6de")], ["404 not_found"]],
  ["a letter encoded twice", [last("/api/v1/%256de")], ["404 not_found"]],
  ["%zz", [last("/api/v1/%zz")], ["404 not_found"]],
  ["%ff", [last("/api/v1/%ff")], ["404 not_found"]],
  ["%00", [last("/api/v1/me%00")], ["404 not_found"]],
  ["encoded line breaks", [last("/api/v1/me%0d%0aX-Injected:%20yes")], ["404 not_found"]],
  [".rsc", [last("/api/v1/me.rsc")], ["404 not_found"]],
  ["POST to a path with .rsc", [request(`POST ${path}.rsc HTTP/1.1`, close, length) + body], ["404 not_found"]],
  ["the parameter _rsc", [last("/api/v1/me?_rsc=1")], ["400 bad_request"]],
  ["a path of Next's page data", [last("/_next/data/x/api/v1/me.json")], ["404 not_found"]],
  [
    "the headers of React Server Components",
    [last("/api/v1/me", "RSC: 1", "Next-Router-State-Tree: []", "Next-Router-Prefetch: 1")],
    ["200"],
  ],
  ["a Next-Action header", [runEnding(["Next-Action: x", length], body)], ["200"]],
  [
    "headers that bypass middleware",
    [last("/api/v1/me", `x-middleware-subrequest: ${"proxy:".repeat(5)}`, "x-nextjs-data: 1")],
    ["200"],
  ],
  [
    "headers that override the path",
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
    "headers that override the method",
    [
      last(
        "/api/v1/me",
        ...["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"].map((name) => `${name}: DELETE`),
      ),
    ],
    ["200"],
  ],
  ["a matrix parameter in the path", [last("/api/v1/me;a=b")], ["404 not_found"]],
  ["a fragment", [last("/api/v1/me#x")], ["200"]],
  ["two spaces before the target", [last(" /api/v1/me")], ["200"]],
]

/** Malformed HTTP and the refusal: in the envelope from the product's listener, without a body from Next alone. */
export const malformed: readonly [name: string, sent: string, response: string][] = [
  ["binary data", "\x00\x01\x02\x03\r\n\r\n", "400 bad_request"],
  ["a TLS handshake", "\x16\x03\x01\x00\xf5\x01\x00\x00\xf1\x03\x03", "400 bad_request"],
  ["an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400 bad_request"],
  ["HTTP/1.2", request("GET /api/v1/me HTTP/1.2"), "400 bad_request"],
  ["an unknown method", request("HACK /api/v1/me HTTP/1.1"), "400 bad_request"],
  ["a method in lower case", request("get /api/v1/me HTTP/1.1"), "400 bad_request"],
  ["a target without a slash", request("GET api/v1/me HTTP/1.1"), "400 bad_request"],
  ["a target that is a host", request("GET a:80 HTTP/1.1"), "400 bad_request"],
  ["a space in a target", request("GET /api/v1/me x HTTP/1.1"), "400 bad_request"],
  ["tabs instead of spaces", request("GET\t/api/v1/me\tHTTP/1.1"), "400 bad_request"],
  ["a target in Latin-1", request("GET /api/v1/m\xe9 HTTP/1.1"), "400 bad_request"],
  ["a target in UTF-8", request("GET /api/v1/m\xc3\xa9 HTTP/1.1"), "400 bad_request"],
  ["a query in Latin-1", request("GET /api/v1/me/orders?limit=\xe9 HTTP/1.1"), "400 bad_request"],
  ["lines that end with LF", me.replaceAll("\r", ""), "400 bad_request"],
  ["CR in a header", last("/api/v1/me", "X-A: a\rb"), "400 bad_request"],
  ["NUL in a header", last("/api/v1/me", "X-A: a\0b"), "400 bad_request"],
  ["a folded header", last("/api/v1/me", "X-A: a\r\n b"), "400 bad_request"],
  ["a folded key", `GET /api/v1/me HTTP/1.1\r\nHost: a\r\nx-api-key:\r\n ${key}\r\n\r\n`, "400 bad_request"],
  ["a space before a colon", last("/api/v1/me", "X-A : b"), "400 bad_request"],
  ["a header without a colon", last("/api/v1/me", "X-A"), "400 bad_request"],
  ["a header name in Latin-1", last("/api/v1/me", "X-\xff: a"), "400 bad_request"],
  ["a header of 17 KB", last("/api/v1/me", `X-A: ${"x".repeat(17_000)}`), "431 headers_too_large"],
  [
    "3,000 headers",
    last("/api/v1/me", ...Array.from({ length: 3_000 }, (_, n) => `X${n}: 1`)),
    "431 headers_too_large",
  ],
  ["a query of 17 KB", last(`/api/v1/me/orders?limit=${"1".repeat(17_000)}`), "431 headers_too_large"],
  [
    "Content-Length before Transfer-Encoding",
    run([length, "Transfer-Encoding: chunked"], `0\r\n\r\n${me}`),
    "400 bad_request",
  ],
  [
    "Transfer-Encoding before Content-Length",
    run(["Transfer-Encoding: chunked", "Content-Length: 5"], `0\r\n\r\n${me}`),
    "400 bad_request",
  ],
  [
    "two different Content-Length headers",
    run([length, `Content-Length: ${body.length + 1}`], body + me),
    "400 bad_request",
  ],
  ["two equal Content-Length headers", run([length, length], body + me), "400 bad_request"],
  ["a list of lengths in one header", run([`${length}, ${body.length}`], body), "400 bad_request"],
  ["a negative Content-Length", run(["Content-Length: -1"], body), "400 bad_request"],
  ["a Content-Length with a plus sign", run([`Content-Length: +${body.length}`], body), "400 bad_request"],
  ["a hexadecimal Content-Length", run([`Content-Length: 0x${chunkSize}`], body), "400 bad_request"],
  ["a Content-Length beyond 64 bits", run(["Content-Length: 99999999999999999999"], body), "400 bad_request"],
  ["an empty Content-Length", run(["Content-Length: "], body), "400 bad_request"],
  ["an invalid chunk size", run(["Transfer-Encoding: chunked"], "zz\r\n"), "400 bad_request"],
  ["a negative chunk size", run(["Transfer-Encoding: chunked"], "-1\r\na\r\n0\r\n\r\n"), "400 bad_request"],
  ["a chunk size beyond 64 bits", run(["Transfer-Encoding: chunked"], "fffffffffffffffff\r\na\r\n"), "400 bad_request"],
  ["a chunk longer than its size", run(["Transfer-Encoding: chunked"], `1\r\n${body}\r\n0\r\n\r\n`), "400 bad_request"],
  [
    "chunks whose lines end with LF",
    run(["Transfer-Encoding: chunked"], `${chunkSize}\n${body}\n0\n\n`),
    "400 bad_request",
  ],
  [
    "a chunk extension of 20 KB",
    run(["Transfer-Encoding: chunked"], `${chunkSize};a=${"x".repeat(20_000)}\r\n`),
    "413 payload_too_large",
  ],
  ["an unknown Transfer-Encoding", run(["Transfer-Encoding: xchunked"], chunked), "400 bad_request"],
  [
    "a Transfer-Encoding that does not end with chunked",
    run(["Transfer-Encoding: chunked, gzip"], chunked),
    "400 bad_request",
  ],
  [
    "two chunked Transfer-Encoding headers",
    run(["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], chunked),
    "400 bad_request",
  ],
  ["Transfer-Encoding: identity", run(["Transfer-Encoding: identity"], body), "400 bad_request"],
  [
    "a space before the colon of Transfer-Encoding",
    run([length, "Transfer-Encoding : chunked"], body),
    "400 bad_request",
  ],
]

/** Truncated requests: the client sends no more and waits for a response. */
export const truncated: readonly [name: string, sent: string][] = [
  ["half a request line", "GET /api/v1/me HTT"],
  ["an HTTP/0.9 request line", "GET /api/v1/me\r\n"],
  ["half of the request headers", "GET /api/v1/me HTTP/1.1\r\nHost: a\r\n"],
  ["half a body", run([`Content-Length: ${body.length + 38}`], body)],
  ["chunks without the last one", run(["Transfer-Encoding: chunked"], `${chunkSize}\r\n${body}\r\n`)],
]

/** The differences of Next alone from the product's listener. docs/listeners.md has these rows, word for word. */
export const differences: readonly Difference[] = [
  ["malformed HTTP", [last("/api/v1/me", "X-A: a\0b")], ["400 bad_request"], ["400 without a body"]],
  [
    "request headers above 16 KiB",
    [last("/api/v1/me", `X-A: ${"x".repeat(17_000)}`)],
    ["431 headers_too_large"],
    ["431 without a body"],
  ],
  [
    "malformed HTTP after a run",
    [run([length], `${body}nonsense\r\n\r\n`)],
    ["200", "400 bad_request"],
    ["400 without a body"],
  ],
  ["`TRACE`", [request("TRACE /api/v1/me HTTP/1.1", close)], ["405 method_not_allowed"], ["500 without the envelope"]],
  [
    "`PROPFIND` and similar methods",
    [request("PROPFIND /api/v1/me HTTP/1.1", close)],
    ["405 method_not_allowed"],
    ["400 without a body"],
  ],
  ["`CONNECT`", [request("CONNECT a:443 HTTP/1.1") + me], ["405 method_not_allowed"], []],
  [
    "`Upgrade: websocket`",
    [request("GET /api/v1/me HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket") + me],
    ["200"],
    [],
  ],
  [
    "`Upgrade: h2c`",
    [
      request(
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
    "two `Authorization` headers, the first one valid",
    [
      `GET /api/v1/me HTTP/1.1\r\nHost: a\r\n${close}\r\nAuthorization: Bearer ${key}\r\nAuthorization: Bearer x\r\n\r\n`,
    ],
    ["401 unauthorized"],
    ["200"],
  ],
  [
    "the same header 1,500 times",
    [last("/api/v1/me", ...Array.from({ length: 1_500 }, () => "a: 1"))],
    ["200"],
    ["431 without a body"],
    ["200"],
  ],
  [
    "a key after 2,000 other headers",
    [`GET /api/v1/me HTTP/1.1\r\nHost: a\r\n${close}\r\n${"a:1\r\n".repeat(2_000)}x-api-key: ${key}\r\n\r\n`],
    ["200"],
    ["431 without a body"],
    ["401 unauthorized"],
  ],
  ["`/API/v1/me`", [last("/API/v1/me")], ["404 not_found"], ["404 without the envelope"]],
  ["`?__proto__=1`", [last("/api/v1/me?__proto__=1")], ["400 bad_request"], ["200"]],
  ["`Accept-Encoding: br`", [last("/api/v1/openapi.json", "Accept-Encoding: br")], ["200 in br"], ["200"]],
]
