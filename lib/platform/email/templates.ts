import { env } from "@/lib/env"
import { absoluteTime, plainDate } from "@/lib/platform/text/format-time"
import { product } from "@/lib/product"
import { kinds, type Surface, surfaces } from "@/lib/surfaces"
import { templates as yours } from "@/lib/yours/emails"

/** The HTML part shows the first link as a button. */
export type Block = string | { list: readonly string[] } | { quote: readonly string[] } | { label: string; url: string }

export type EmailContent = {
  subject: string
  body: readonly Block[]
  /** The end of the sentence "You get this email because …". */
  because?: string
  /** The mail server's message is not logged, because it may quote the email. */
  confidential?: true
  /** The limit of emails never drops it where addresses are verified. */
  security?: true
  /** Anybody who knows the address can cause it: a part of the limit of emails is for these. */
  unsolicited?: true
  /** Has its own limit, so that the limit of all emails never drops it. */
  limited?: true
}

type KeyFacts = { surface: Surface; name: string; start: string }

export type ExpiringKey = KeyFacts & { expiresAt: Date; hasExpired: boolean; ownerEmail: string | null }

/** Amounts are in words, such as "1,000 credits". */
type CreditFacts = {
  balance: string
  added: string
  percent: number
  needed: string
  adding: { label: string; url: string }
}

/** `period` is null for the balance. */
type AlertFacts = { period: "day" | "month" | null; amount: string; credits: string; adding: CreditFacts["adding"] }

type TokenFacts = { token: string; hours: number }

/**
 * None contains an API key, a password or a link that signs in directly. Emails to unverified addresses contain no text
 * that a person typed, except for staff.
 */
export const templates = {
  welcome: () => ({
    subject: `Welcome to ${product.name}`,
    body: [
      "Your account is ready. Create your first API key to call the API.",
      { label: "Create an API key", url: urlOf(kinds.user.page) },
    ],
  }),
  verify_address: ({ token, hours }: TokenFacts) => ({
    subject: "Confirm your email address",
    body: [
      `To finish creating your account at ${product.name}, confirm that this email address is yours.`,
      { label: "Confirm email address", url: urlOf(`/verify/${token}`) },
      `The link works once and expires after ${hours} hours.`,
      "If you did not sign up, ignore this email. Without the link no one can use the account.",
    ],
    because: `someone entered this address to sign up at ${env().BASE_URL}`,
    unsolicited: true,
    confidential: true,
  }),
  already_registered: () => ({
    subject: "You already have an account",
    body: [
      `Someone, perhaps you, entered this email address at ${product.name}, to sign up or as the new address of another account. The address already belongs to an account, so nothing was changed.`,
      "If it was you, sign in. If you forgot your password, set a new one.",
      { label: "Sign in", url: urlOf("/sign-in") },
      resetPassword(),
      "If it was not you, ignore this email. Your account did not change.",
    ],
    unsolicited: true,
  }),
  address_change: ({ token, hours }: TokenFacts) => ({
    subject: "Confirm your new email address",
    body: [
      `To use this email address for your account at ${product.name}, confirm that it is yours.`,
      { label: "Confirm email address", url: urlOf(`/verify/${token}`) },
      `The link works once and expires after ${hours} hours.`,
      "If you did not request this, ignore this email. Without the link the account keeps its current address.",
    ],
    because: `someone entered this address as the new address of an account at ${env().BASE_URL}`,
    unsolicited: true,
    confidential: true,
  }),
  address_changed: ({ token, hours }: TokenFacts) => ({
    subject: "The email address of your account was changed",
    body: [
      "Your account now has another email address. You sign in with the new address, and all emails are sent to it.",
      `If this was not you, undo the change within ${hours} hours and set a new password.`,
      { label: "Undo the change", url: urlOf(`/verify/${token}`) },
    ],
    because: `this was the address of your account at ${env().BASE_URL}`,
    confidential: true,
    security: true,
  }),
  address_restored: () => ({
    subject: "A change of email address was undone",
    body: [
      "The change of your email address was undone from your previous address. You can no longer sign in with this address. All browsers were signed out, and the password was removed.",
      `If this was not you, contact ${product.supportEmail}.`,
    ],
    because: `this was the address of an account at ${env().BASE_URL}`,
    security: true,
  }),
  feedback_reply: ({ sentAt, message, reply }: { sentAt: Date; message: string; reply: string }) => ({
    subject: `Re: your feedback on ${product.name}`,
    body: [
      "Thank you for your feedback. This is our reply:",
      ...reply.split(/\n+/),
      ...(env().VERIFY_EMAIL === "on"
        ? [`On ${plainDate(sentAt)} you wrote:`, { quote: beginningOf(message).split(/\n+/) }]
        : []),
    ],
  }),
  waitlist_invite: ({ email }: { email: string }) => ({
    subject: `You can now sign up for ${product.name}`,
    body: [
      `You joined the waitlist of ${product.name}. Now you can create your account.`,
      { label: "Create your account", url: urlOf(`/sign-up?email=${encodeURIComponent(email)}`) },
      "Sign up with this email address. If you are no longer interested, ignore this email.",
    ],
    because: `someone joined the waitlist with this address at ${env().BASE_URL}`,
  }),
  role_changed: ({ role }: { role: string }) => ({
    subject: `Your role is now ${role}`,
    body: [
      `The role of your account was changed to ${role}. The new role applies from now on, to pages and to your admin keys.`,
      { label: "Open your account", url: urlOf("/account") },
    ],
    security: true,
  }),
  account_banned: () => ({
    subject: "Your account was banned",
    body: [
      "Your account was banned. All browsers were signed out, and requests with your API keys are now rejected.",
      `If you think this is a mistake, contact ${product.supportEmail}.`,
    ],
    security: true,
  }),
  deletion_requested: ({ dueAt, undoable, byStaff }: { dueAt: Date; undoable: boolean; byStaff: boolean }) => ({
    subject: `Your account will be deleted on ${plainDate(dueAt)}`,
    body: [
      `${byStaff ? "Our staff" : "Someone, hopefully you,"} requested the deletion of your account at ${product.name}. It is closed: all browsers were signed out, and requests with your API keys are rejected.`,
      `On ${absoluteTime(dueAt)} your personal data is deleted for good.`,
      ...(undoable
        ? [
            "Until then you can undo this: sign in, and choose to keep your account.",
            { label: "Sign in to keep your account", url: urlOf("/sign-in") },
            ...(byStaff ? [] : ["If this was not you, also set a new password.", resetPassword()]),
          ]
        : [`To object, contact ${product.supportEmail} before that.`]),
    ],
    security: true,
  }),
  deletion_undone: ({ byStaff }: { byStaff: boolean }) => ({
    subject: "Your account will not be deleted",
    body: [
      `${byStaff ? "Our staff has undone the deletion of your account." : "Someone, hopefully you, signed in and undid the deletion of your account."} You can sign in, and API keys that have not ended work again.`,
      ...(byStaff ? [] : ["If you did not sign in, set a new password.", resetPassword()]),
    ],
    security: true,
  }),
  account_deleted: () => ({
    subject: "Your account was deleted",
    body: [
      "Your account was deleted, as announced a week ago. Its API keys are revoked, its subscription has ended, and your personal data is being erased.",
      "Payments and credits stay in our books without your name. In a few minutes you can sign up again with this address.",
    ],
    because: `this was the address of an account at ${env().BASE_URL}`,
    security: true,
  }),
  provider_connected: ({ provider }: { provider: string }) => ({
    subject: `${provider} was connected to your account`,
    body: [
      `You can now sign in to your account with ${provider}.`,
      `If this was not you, disconnect ${provider} and change your password.`,
      { label: "Open your security settings", url: urlOf("/account/security") },
    ],
    security: true,
  }),
  provider_disconnected: ({ provider }: { provider: string }) => ({
    subject: `${provider} was disconnected from your account`,
    body: [
      `You can no longer sign in to your account with ${provider}.`,
      "If this was not you, change your password.",
      { label: "Open your security settings", url: urlOf("/account/security") },
    ],
    security: true,
  }),
  factor_added: ({ factor }: { factor: Factor }) => ({
    subject: `${factorNames[factor]} was added to your account`,
    body: [
      factor === "passkey"
        ? "You can now sign in to your account with this passkey, and a sign-in by another method asks for a second factor. All other browsers were signed out."
        : "A sign-in to your account now asks for a second factor, such as a code from this app. All other browsers were signed out.",
      `If this was not you, contact ${product.supportEmail}.`,
      { label: "Open your security settings", url: urlOf("/account/security") },
    ],
    security: true,
  }),
  factor_removed: ({ factor }: { factor: Factor }) => ({
    subject: `${factorNames[factor]} was removed from your account`,
    body: [
      `You can no longer sign in to your account with this ${factor === "app" ? "app" : "passkey"}. All other browsers were signed out.`,
      "If this was not you, change your password and check the sign-in methods of your account.",
      { label: "Open your security settings", url: urlOf("/account/security") },
    ],
    security: true,
  }),
  passkey_refused: () => ({
    subject: "A passkey of your account was refused",
    body: [
      "Someone used a passkey of your account, and its counter went back. A copy of the passkey does that, and so does a device that was restored from a backup.",
      "In both cases, remove the passkey and add a new one. Your other passkeys, your app and your recovery codes still work.",
      { label: "Open your security settings", url: urlOf("/account/security/two-factor") },
      "You receive at most one such email a day.",
    ],
    security: true,
  }),
  passkey_uncounted: () => ({
    subject: "A passkey of your account no longer counts its uses",
    body: [
      "A passkey of your account was used. It counted its uses before, and now it does not. That happens when a passkey is moved to a password manager.",
      "If this was not you, remove the passkey, change your password, and sign out all browsers that you do not recognize.",
      { label: "Open your security settings", url: urlOf("/account/security/two-factor") },
    ],
    security: true,
  }),
  factors_reset: () => ({
    subject: "Two-factor authentication was reset",
    body: [
      `The operator of ${product.name} has removed all passkeys, the authenticator app and the recovery codes of your account, and signed out all browsers. You sign in without a second factor until you set one up.`,
      `If you did not ask for this, contact ${product.supportEmail}.`,
      { label: "Set up two-factor authentication", url: urlOf("/account/security/two-factor") },
    ],
    security: true,
  }),
  recovery_codes_replaced: () => ({
    subject: "New recovery codes were created",
    body: [
      "The recovery codes of your account were replaced. Earlier ones no longer work.",
      "If this was not you, change your password and check the sign-in methods of your account.",
      { label: "Open your security settings", url: urlOf("/account/security") },
    ],
    security: true,
  }),
  recovery_code_used: ({ left }: { left: number }) => ({
    subject: "A recovery code was used",
    body: [
      `A recovery code of your account was used in place of a passkey or an authenticator app. ${left === 0 ? "None is left: create new ones." : left === 1 ? "One is left." : `${left} are left.`}`,
      "If this was not you, change your password, and create new recovery codes.",
      { label: "Open your security settings", url: urlOf("/account/security/two-factor") },
    ],
    security: true,
  }),
  wrong_codes: ({ codes, minutes, address }: { codes: number; minutes: number; address: string }) => ({
    subject: "Wrong codes were entered for your account",
    body: [
      `Someone entered ${codes} wrong codes in a row in place of a code of your authenticator app, from the IP address ${address}. In that browser, codes of the app are now refused for ${minutes} minutes; recovery codes and passkeys still work.`,
      "Codes are asked for after your password or another sign-in method, and in browsers that are signed in. If this was not you, someone else got that far: change your password, and sign out all browsers that you do not recognize.",
      { label: "Open your security settings", url: urlOf("/account/security") },
      "You receive at most one such email a day.",
    ],
    security: true,
  }),
  new_browser: ({ browser, address, via }: { browser: string; address: string; via: string }) => ({
    subject: "New sign-in to your account",
    body: [
      "Someone signed in to your account from a browser that we do not recognize.",
      { list: [`Browser: ${browser}`, `IP address: ${address}`, `Signed in with: ${via}`] },
      "If this was you, there is nothing to do. If not, sign out that browser, change your password and revoke any keys that you do not recognize.",
      { label: "Open your security settings", url: urlOf("/account/security") },
      { label: "View your API keys", url: urlOf(kinds.user.page) },
    ],
    security: true,
  }),
  key_created: (key: KeyFacts) => ({
    subject: `A new API key was created: ${key.start}…`,
    body: [
      `The key ${named(key)} was created for your account.`,
      "If this was not you, revoke the key and change your password.",
      { label: "View your API keys", url: urlOf(kinds[key.surface].page) },
    ],
    security: true,
  }),
  key_rotated: ({ oldStart, oldWorksUntil, ...key }: KeyFacts & { oldStart: string; oldWorksUntil: Date | null }) => ({
    subject: `An API key was replaced: ${oldStart}…`,
    body: [
      `The key ${named(key)} of your account replaces ${oldStart}…, which ${oldWorksUntil ? `works until ${absoluteTime(oldWorksUntil)}` : "no longer works"}.`,
      "If this was not you, revoke both keys and change your password.",
      { label: "View your API keys", url: urlOf(kinds[key.surface].page) },
    ],
    security: true,
  }),
  key_changed: (key: KeyFacts) => ({
    subject: `The limits of an API key were changed: ${key.start}…`,
    body: [
      `The name or the limits of the key ${named(key)} of your account were changed.`,
      "If this was not you, revoke the key and change your password.",
      { label: "View your API keys", url: urlOf(kinds[key.surface].page) },
    ],
    security: true,
  }),
  admin_key_created: ({ email, start }: { email: string; start: string }) => ({
    subject: `A new admin key was created: ${start}…`,
    body: [
      `${email} created the admin key ${start}…. It can do no more than their role permits.`,
      "If you did not expect this, ask them about it, or revoke the key.",
      { label: "View all admin keys", url: urlOf(kinds.admin.page) },
    ],
    because: `you are an owner of ${product.name} at ${env().BASE_URL}`,
    security: true,
  }),
  keys_revoked: ({ keys }: { keys: readonly { name: string; start: string }[] }) => ({
    subject: keys[1] ? `${keys.length} API keys were revoked` : `An API key was revoked: ${keys[0]?.start}…`,
    body: ["These keys of your account were revoked. Requests with them are now rejected.", { list: keys.map(named) }],
    security: true,
  }),
  keys_expiring: ({ keys }: { keys: readonly ExpiringKey[] }) => ({
    subject: expirySubject(keys),
    body: [
      "Requests with a key are rejected once it has expired.",
      { list: keys.map(expiryOf) },
      "If you still need a key, rotate it before it expires: the new key has the same name, permissions and limits, and both work while you replace the old one. If a key has already expired, or its owner can no longer use it, create a new key instead.",
      ...surfaces
        .filter((surface) => keys.some((key) => key.surface === surface))
        .map((surface) => ({ label: `Open ${kinds[surface].title}`, url: urlOf(kinds[surface].page) })),
      { label: "How to rotate a key", url: urlOf("/docs#keys") },
    ],
    security: true,
  }),
  credits_low: ({ balance, added, percent, needed, adding }: CreditFacts) => ({
    subject: `Your credits are running low: ${balance} left`,
    body: [
      `Your balance is ${balance}, at most ${percent} % of the ${added} that were last added.`,
      `A call needs a balance of ${needed}, its maximum cost. With less, calls are refused.`,
      { label: adding.label, url: adding.url },
      { label: "View your credits", url: urlOf("/account/credits") },
    ],
    security: true,
  }),
  credits_too_low: ({ balance, needed, adding }: CreditFacts) => ({
    subject: `Your credits are too few for a call: ${balance} left`,
    body: [
      `Your balance is ${balance}. A call needs a balance of ${needed}, its maximum cost.`,
      "Until credits are added, calls are refused with the status 402, and nothing is charged.",
      { label: adding.label, url: adding.url },
      { label: "View your credits", url: urlOf("/account/credits") },
    ],
    security: true,
  }),
  credit_alert: ({ period, amount, credits, adding }: AlertFacts) => ({
    subject: period ? `You spent ${amount} this ${period}` : `Your balance is ${amount}`,
    body: [
      period
        ? `Your runs have cost ${amount} this ${period} (UTC). You asked for an email at ${credits}.`
        : `Your balance is ${amount}. You asked for an email at ${credits} left.`,
      { label: "View your credits", url: urlOf("/account/credits") },
      ...(period ? [] : [{ label: adding.label, url: adding.url }]),
      `${period ? `You get this email once a ${period}.` : "You get this email again after your balance was higher."} To change it, open the usage alerts below your balance.`,
    ],
    security: true,
  }),
  top_up_declined: ({ credits, why }: { credits: string; why: string }) => ({
    subject: "An automatic top-up was declined",
    body: [
      `The payment for ${credits} was declined: ${why}`,
      "No credits were added. Automatic top-up is paused until your card changes or you turn it on again.",
      { label: "Change your card", url: urlOf("/account/plan") },
    ],
    security: true,
  }),
  top_up_paused: ({ credits }: { credits: string }) => ({
    subject: "Automatic top-up is paused",
    body: [
      `Automatic top-up did not buy ${credits}: they are no longer sold, or cost more than when you saved it.`,
      "No credits were added. It continues when you save it again.",
      { label: "Choose a pack", url: urlOf("/account/plan") },
    ],
    security: true,
  }),
  key_leaked: ({ id, predecessor, ...key }: KeyFacts & { id: string; predecessor: string | null }) => ({
    subject: `A leaked API key was revoked: ${key.start}…`,
    body: [
      `The key ${named(key)} of your account was found in a place where others can read it, and reported to us. It was revoked: requests with it are now rejected.`,
      ...(predecessor ? [`The key that it had replaced, ${predecessor}…, was revoked too.`] : []),
      {
        list: [
          "See what was done with the key, and whether that was you.",
          "Create a new key, and use it wherever you used this one.",
          "Remove the key from where it was found, so that it is not reported again.",
        ],
      },
      { label: "See what was done with the key", url: reportOf(key.surface, id) },
      { label: "Create a new key", url: urlOf(kinds[key.surface].page) },
    ],
    security: true,
  }),
  admin_key_leaked: ({ email, id, start }: { email: string; id: string; start: string }) => ({
    subject: `A leaked admin key was revoked: ${start}…`,
    body: [
      `The admin key ${start}… of ${email} was found in a place where others can read it, and reported to us. It was revoked: requests with it are now rejected.`,
      "See what was read with it. If its owner did not read that data, inform the customers whose data it is.",
      { label: "See what was done with the key", url: reportOf("admin", id) },
    ],
    because: `you are an owner of ${product.name} at ${env().BASE_URL}`,
    security: true,
  }),
  password_reset: ({ token, minutes }: { token: string; minutes: number }) => ({
    subject: "Reset your password",
    body: [
      `We received a request to reset the password of your account at ${product.name}.`,
      { label: "Set a new password", url: urlOf(`/reset-password/${token}`) },
      `The link works once and expires after ${minutes} minutes.`,
      "If you did not request this, ignore this email. Your password does not change.",
    ],
    confidential: true,
    limited: true,
  }),
  proof_code: ({ code, minutes }: { code: string; minutes: number }) => ({
    subject: "Your confirmation code",
    body: [
      "Someone who is signed in to your account wants to change it. If it is you, enter this code on the page that asks for it:",
      code.replace(/^(\d{4})(\d{4})$/, "$1 $2"),
      `The code works once, in that browser, and expires after ${minutes} minutes. Do not give it to anybody, us included.`,
      "If it is not you, sign out all other browsers.",
      { label: "Open your security settings", url: urlOf("/account/security") },
    ],
    confidential: true,
    limited: true,
  }),
  password_changed: () => ({
    subject: "Your password was changed",
    body: [
      "The password of your account was changed, and all other browsers were signed out. Your API keys did not change.",
      "If this was not you, reset your password and revoke any keys that you do not recognize.",
      resetPassword(),
      { label: "View your API keys", url: urlOf(kinds.user.page) },
    ],
    security: true,
  }),
  ...yours,
} satisfies Record<string, (facts: never) => EmailContent>

type Factor = "app" | "passkey"

const factorNames: Record<Factor, string> = { app: "An authenticator app", passkey: "A passkey" }

/** Without verification the address may belong to another person, and the name may be a message. */
function named({ name, start }: { name: string; start: string }): string {
  return env().VERIFY_EMAIL === "on" ? `"${name}" (${start}…)` : `${start}…`
}

function beginningOf(text: string): string {
  const characters = [...text]
  return characters.length > 500 ? `${characters.slice(0, 500).join("")}…` : text
}

function expirySubject(keys: readonly ExpiringKey[]): string {
  const [first, second] = keys
  if (second)
    return `${keys.length} API keys ${keys.every(({ hasExpired }) => hasExpired) ? "have expired" : "expire soon"}`
  return first?.hasExpired
    ? `An API key has expired: ${first.start}…`
    : `An API key expires on ${first && plainDate(first.expiresAt)}: ${first?.start}…`
}

function expiryOf({ expiresAt, hasExpired, ownerEmail, ...key }: ExpiringKey): string {
  const whose = ownerEmail ? `${named(key)} of ${ownerEmail}` : named(key)
  return `${whose} ${hasExpired ? "expired" : "expires"} on ${absoluteTime(expiresAt)}`
}

function reportOf(surface: Surface, id: string): string {
  return urlOf(`${kinds[surface].page}/${id}/report`)
}

function resetPassword() {
  return { label: "Reset your password", url: urlOf("/reset-password") }
}

function urlOf(path: string): string {
  return `${env().BASE_URL}${path}`
}

export type Template = keyof typeof templates

export const templateNames = Object.keys(templates)
