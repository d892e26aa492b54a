import { expect, test } from "vitest"
import { localPath } from "./local-path"

test.each([
  ["/api-keys", "/api-keys"],
  ["/admin/api-keys?new", "/admin/api-keys?new"],
  ["/a#b", "/a"],
  [undefined, "/"],
  ["", "/"],
  ["https://evil.example/", "/"],
  ["//evil.example", "/"],
  ["/\\evil.example", "/"],
  ["/\t/evil.example", "/"],
  ["/.//evil.example", "/"],
  ["\\/evil.example", "/"],
  ["javascript:alert(1)", "/"],
  ["api-keys", "/"],
])("the callbackUrl %s redirects to %s after sign-in", (callbackUrl, expected) => {
  expect(localPath(callbackUrl)).toBe(expected)
})
