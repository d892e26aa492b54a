import { afterEach, expect, test } from "vitest"
import { env, parseEnv } from "@/lib/env"
import { clientAddress, socketAddressHeader } from "./client-address"

afterEach(() => {
  env().TRUSTED_PROXY_HOPS = 0
  delete env().TRUSTED_PROXIES
})

function address(hops: number, headers: Record<string, string>) {
  env().TRUSTED_PROXY_HOPS = hops
  return clientAddress(new Headers({ [socketAddressHeader]: "10.0.0.9", ...headers }))
}

/** The client of a request from a socket, with the addresses forwarded, where the listed proxies are trusted. */
function addressBehind(proxies: string, socket: string, forwarded?: string) {
  env().TRUSTED_PROXIES = parseEnv({ ...process.env, TRUSTED_PROXIES: proxies }).TRUSTED_PROXIES
  return address(0, { [socketAddressHeader]: socket, ...(forwarded !== undefined && { "x-forwarded-for": forwarded }) })
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
  expect(address(0, { [socketAddressHeader]: "2001:db8::9" })).toBe("2001:db8::/64")
  expect(address(0, { [socketAddressHeader]: "::1" })).toBe("::/64")
})

test.each([
  ["203.0.113.7:55555", "203.0.113.7"],
  ["::ffff:cb00:7107", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["[2001:db8::9]:443", "2001:db8::/64"],
  ["2001:0DB8:0:0::1", "2001:db8::/64"],
  ["fe80::1%eth0", "fe80::/64"],
  ["%", "unknown"],
  ["unknown", "unknown"],
  ["1.2.3.4.5", "unknown"],
  ["999.1.1.1", "unknown"],
])("the forwarded value %s counts as %s", (forwarded, expected) => {
  expect(address(1, { "x-forwarded-for": forwarded })).toBe(expected)
})

test("behind trusted networks the first untrusted entry from the right is used; earlier entries are ignored", () => {
  const proxies = "10.0.0.0/8, 192.0.2.1, 2001:db8:f::/48"
  expect(addressBehind(proxies, "10.0.0.9", "6.6.6.6, 203.0.113.7")).toBe("203.0.113.7")
  expect(addressBehind(proxies, "192.0.2.1", "10.6.6.6, 203.0.113.7, 10.0.0.1, 10.0.0.2")).toBe("203.0.113.7")
  expect(addressBehind(proxies, "2001:db8:f::1", "6.6.6.6, 2001:db8:1:2::9, 10.0.0.1")).toBe("2001:db8:1:2::/64")
  expect(addressBehind(proxies, "10.0.0.9", "203.0.113.7:55555, [2001:db8:f::2]:443")).toBe("203.0.113.7")
})

test("a request from outside the trusted networks counts by its socket, and its forwarded addresses are ignored", () => {
  for (const forwarded of ["203.0.113.7", "203.0.113.7, 10.0.0.1", "10.0.0.9"]) {
    expect(addressBehind("10.0.0.0/8", "192.0.2.1", forwarded)).toBe("192.0.2.1")
    expect(addressBehind("10.0.0.0/8", "2001:db8::9", forwarded)).toBe("2001:db8::/64")
  }
  expect(addressBehind("10.0.0.0/8", "", "203.0.113.7")).toBe("unknown")
})

test("an IPv4 address mapped into IPv6 is trusted as IPv4, in the socket, in the header and in the list", () => {
  expect(addressBehind("10.0.0.0/8", "::ffff:10.0.0.9", "203.0.113.7, ::ffff:10.0.0.1, ::ffff:a00:2")).toBe(
    "203.0.113.7",
  )
  expect(addressBehind("::ffff:10.0.0.0/104", "10.0.0.9", "::ffff:203.0.113.7")).toBe("203.0.113.7")
  expect(addressBehind("10.0.0.0/8", "::ffff:192.0.2.1", "203.0.113.7")).toBe("192.0.2.1")
})

test("where no untrusted address is forwarded, the farthest address that a trusted proxy names is used", () => {
  expect(addressBehind("10.0.0.0/8", "10.0.0.9")).toBe("10.0.0.9")
  expect(addressBehind("10.0.0.0/8", "10.0.0.9", "10.0.0.1, 10.0.0.2")).toBe("10.0.0.1")
  expect(addressBehind("10.0.0.0/8", "10.0.0.9", "203.0.113.7, unknown, 10.0.0.2")).toBe("10.0.0.2")
  expect(addressBehind("fe80::/10", "fe80::1%eth0", "203.0.113.7")).toBe("203.0.113.7")
})
