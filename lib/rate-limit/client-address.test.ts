import { afterEach, expect, test } from "vitest"
import { env } from "@/lib/env"
import { clientAddress, socketAddressHeader } from "./client-address"

afterEach(() => {
  env().TRUSTED_PROXY_HOPS = 0
})

function address(hops: number, headers: Record<string, string>) {
  env().TRUSTED_PROXY_HOPS = hops
  return clientAddress(new Headers({ [socketAddressHeader]: "10.0.0.9", ...headers }))
}

test("without trusted proxies the socket's address is used and X-Forwarded-For is ignored", () => {
  expect(address(0, { "x-forwarded-for": "1.1.1.1" })).toBe("10.0.0.9")
})

test("behind n trusted proxies the entry n places before the socket is used; earlier entries are ignored", () => {
  expect(address(1, { "x-forwarded-for": "6.6.6.6, 203.0.113.7" })).toBe("203.0.113.7")
  expect(address(2, { "x-forwarded-for": "6.6.6.6, 203.0.113.7, 10.0.0.1" })).toBe("203.0.113.7")
  expect(address(2, { "x-forwarded-for": "203.0.113.7" })).toBe("203.0.113.7")
  expect(address(1, {})).toBe("10.0.0.9")
})

test("an IPv6 address counts as its /64", () => {
  const one = address(0, { [socketAddressHeader]: "2001:db8:1:2:3:4:5:6" })
  expect(one).toBe("2001:db8:1:2::/64")
  expect(address(0, { [socketAddressHeader]: "2001:db8:1:2::9" })).toBe(one)
  expect(address(0, { [socketAddressHeader]: "2001:db8::9" })).toBe("2001:db8:0:0::/64")
  expect(address(0, { [socketAddressHeader]: "::1" })).toBe("0:0:0:0::/64")
})

test.each([
  ["203.0.113.7:55555", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["[2001:db8::9]:443", "2001:db8:0:0::/64"],
  ["2001:0DB8:0:0::1", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["%", "10.0.0.9"],
  ["unknown", "10.0.0.9"],
  ["1.2.3.4.5", "10.0.0.9"],
  ["999.1.1.1", "10.0.0.9"],
])("the forwarded value %s counts as %s", (forwarded, expected) => {
  expect(address(1, { "x-forwarded-for": forwarded })).toBe(expected)
})
