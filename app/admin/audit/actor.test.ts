import { expect, test } from "vitest"
import { actorWithoutAccount } from "./actor"

test.each([
  ["user.sign_in_failed", { via: "password" }, "Unknown person"],
  ["user.proof_failed", { method: "password" }, "Unknown person"],
  ["user.passkey_refused", {}, "Unknown person"],
  ["user.password_reset", {}, "Operator’s command"],
  ["user.role_changed", { from: "member", to: "owner" }, "Operator’s command"],
  ["user.factors_reset", {}, "Operator’s command"],
  ["user.erased", {}, "Scheduled deletion"],
  ["api_key.revoked", { via: "deletion" }, "Scheduled deletion"],
  ["api_key.revoked", { via: "leak report" }, "Leak report"],
  ["api_key.revoked", null, "System"],
  ["of.an_earlier_release", undefined, "System"],
  ["constructor", {}, "System"],
])("%s by no account, with %j, is by: %s", (action, details, actor) => {
  expect(actorWithoutAccount({ action, details })).toBe(actor)
})
