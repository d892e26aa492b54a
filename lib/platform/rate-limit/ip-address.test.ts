import { expect, test } from "vitest"
import { isWithin, parseNetwork } from "./ip-address"

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["203.0.113.7/32", "203.0.113.7"],
  ["203.0.113.7/24", "203.0.113.0/24"],
  ["10.255.0.0/9", "10.128.0.0/9"],
  ["0.0.0.0/0", "0.0.0.0/0"],
  ["255.255.255.255/1", "128.0.0.0/1"],
  ["2001:DB8:0:0::1", "2001:db8::1"],
  ["2001:db8::1/128", "2001:db8::1"],
  ["2001:db8:ffff:ffff::1/33", "2001:db8:8000::/33"],
  ["::1/0", "::/0"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7/120", "203.0.113.0/24"],
  ["::FFFF:cb00:7107/128", "203.0.113.7"],
])("%s is the network %s", (written, network) => {
  expect(parseNetwork(written)).toBe(network)
})

test.each([
  "",
  "203.0.113",
  "203.0.113.7/33",
  "203.0.113.7/",
  "203.0.113.7/-1",
  "203.0.113.7/8/8",
  "203.0.113.7:443",
  "203.0.113.07",
  "2001:db8::/129",
  "[2001:db8::1]",
  "fe80::1%eth0",
  "::ffff:203.0.113.7/95",
  "example.com",
  " 203.0.113.7",
])("%j is no network", (written) => {
  expect(parseNetwork(written)).toBeUndefined()
})

test("an address is within a network of its own family, to the last bit", () => {
  const networks = ["203.0.113.128/25", "198.51.100.7", "2001:db8::8/125", "2001:db8:1::1"]
  for (const address of ["203.0.113.128", "203.0.113.255", "198.51.100.7", "2001:db8::f", "2001:db8:1::1"]) {
    expect(isWithin(address, networks), address).toBe(true)
  }
  for (const address of ["203.0.113.127", "198.51.100.8", "2001:db8::10", "2001:db8:1::2", "2001:db8:1::"]) {
    expect(isWithin(address, networks), address).toBe(false)
  }
  expect(isWithin("203.0.113.7", ["::/0"])).toBe(false)
  expect(isWithin("2001:db8::1", ["0.0.0.0/0"])).toBe(false)
})
