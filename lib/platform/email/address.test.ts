import { expect, test } from "vitest"
import { emailAddress, emailParameter, mailboxOf } from "./address"

test.each([
  "member@example.com/x",
  "member@example.com?x",
  "member@example.com#x",
  "member@example.com:25",
  "member@example.com\\x",
  "member@ex%61mple.com",
  "member@example%2Ecom",
  "member@exam\tple.com",
  "member@exam\nple.com",
  "member@example.com, other@example.com",
  "Member <member@example.com>",
  "member@example.com\nother@example.com",
  "member@",
  "@example.com",
])("%j is no address, and no part of it counts as one", (typed) => {
  expect([emailAddress.safeParse(typed).success, emailParameter.safeParse(typed).success]).toEqual([false, false])
})

test("an address has one spelling", () => {
  expect(emailAddress.parse(" Ｍember@BÜCHER.example ")).toBe("member@xn--bcher-kva.example")
})

test.each([
  ["j.o.h.n@gmail.com", "john@gmail.com"],
  ["john@googlemail.com", "john@gmail.com"],
  ["jo.hn+a.b@gmail.com", "john+@gmail.com"],
  ["j-o.h_n+x_y@pm.me", "john+@proton.me"],
  ["j.ohn@protonmail.com", "john@proton.me"],
  ["j.o.h.n@example.com", "j.o.h.n@example.com"],
  ["j-ohn@gmail.com", "j-ohn@gmail.com"],
  ["j.ohn@notpm.me", "j.ohn@notpm.me"],
  ["john@gmail.com.example", "john@gmail.com.example"],
])("emails to %s are limited like emails to %s", (email, mailbox) => {
  expect(mailboxOf(email)).toBe(mailbox)
})
