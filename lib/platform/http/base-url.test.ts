import { expect, test } from "vitest"
import { matchesBaseUrl } from "./base-url"

test.each([
  ["https://app.example.com", true],
  ["https://app.example.com:443", true],
  ["http://app.example.com", false],
  ["https://evil.example", false],
  ["https://app.example.com.evil.example", false],
  ["null", false],
  [null, false],
  ["", false],
])("an action with the origin %s is allowed: %s", (origin, expected) => {
  expect(matchesBaseUrl(origin, "https://app.example.com")).toBe(expected)
})

test("loopback host names with the same port are one origin", () => {
  for (const name of ["localhost", "127.0.0.1", "[::1]"]) {
    expect(matchesBaseUrl(`http://${name}:3000`, "http://localhost:3000")).toBe(true)
    expect(matchesBaseUrl(`http://${name}:3001`, "http://localhost:3000")).toBe(false)
  }
  expect(matchesBaseUrl("http://localhost", "https://app.example.com")).toBe(false)
})
