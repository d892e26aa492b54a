import { env } from "@/lib/env"
import { product } from "@/lib/product"
import { kinds, type Surface } from "@/lib/surfaces"

type KeyFacts = { surface: Surface; keyName: string; start: string }

/** For a `confidential` email the mail server's message is not logged, because it may quote the email. */
export type EmailMessage = { subject: string; text: string; confidential?: true }

/** All emails of the application. None contains an API key, a password or a link that signs in directly. */
export const templates = {
  welcome: ({ name }: { name: string }) => ({
    subject: `Welcome to ${product.name}`,
    text: `Hello ${name},\n\nYour account is ready. Create your first API key at ${env().BASE_URL}${kinds.user.page}.\n`,
  }),
  verify_address: ({ token, hours }: { token: string; hours: number }) => ({
    subject: "Confirm your email address",
    text: `To finish signing up, open this link. It works once and expires after ${hours} hours:\n\n${env().BASE_URL}/verify/${token}\n\nIf you did not sign up, ignore this email.\n`,
    confidential: true,
  }),
  already_registered: (_: object) => ({
    subject: "You already have an account",
    text: `Somebody, perhaps you, entered this address to sign up. It already has an account. Sign in at ${env().BASE_URL}/sign-in or reset your password at ${env().BASE_URL}/reset-password.\n`,
  }),
  address_change: ({ token, hours }: { token: string; hours: number }) => ({
    subject: "Confirm your new email address",
    text: `To use this address for your account, open this link. It works once and expires after ${hours} hours:\n\n${env().BASE_URL}/verify/${token}\n\nIf you did not ask for this, ignore this email.\n`,
    confidential: true,
  }),
  address_changed: ({ token, hours }: { token: string; hours: number }) => ({
    subject: "The email address of your account was changed",
    text: `Your account now uses another address. If this was not you, undo the change with this link within ${hours} hours:\n\n${env().BASE_URL}/verify/${token}\n`,
    confidential: true,
  }),
  key_created: (key: KeyFacts) => ({
    subject: `A new API key was created: ${key.start}…`,
    text: `The key "${key.keyName}" (${key.start}…) was created for your account.\n\nIf this was not you, revoke the key at ${env().BASE_URL}${kinds[key.surface].page} and change your password.\n`,
  }),
  keys_revoked: ({ keys }: { keys: readonly { name: string; start: string }[] }) => ({
    subject: keys[1] ? `${keys.length} API keys were revoked` : `An API key was revoked: ${keys[0]?.start}…`,
    text: `These keys of your account were revoked. Requests with them are now rejected.\n\n${keys.map(({ name, start }) => `- "${name}" (${start}…)\n`).join("")}`,
  }),
  password_reset: ({ token, minutes }: { token: string; minutes: number }) => ({
    subject: "Reset your password",
    text: `We received a request to reset the password of your account at ${env().BASE_URL}. To set a new password, open this link. It works once and expires after ${minutes} minutes:\n\n${env().BASE_URL}/reset-password/${token}\n\nIf you did not request this, ignore this email. Your password does not change.\n`,
    confidential: true,
  }),
  password_changed: ({ name }: { name: string }) => ({
    subject: "Your password was changed",
    text: `Hello ${name},\n\nThe password of your account was changed, and all other browsers were signed out. API keys keep working.\n\nIf this was not you, reset your password at ${env().BASE_URL}/reset-password and revoke any keys that you do not recognize at ${env().BASE_URL}${kinds.user.page}.\n`,
  }),
  provider_connected: ({ provider }: { provider: string }) => ({
    subject: `${provider} was connected to your account`,
    text: `You can now sign in with ${provider}.\n\nIf this was not you, disconnect it at ${env().BASE_URL}/account/security and change your password.\n`,
  }),
  provider_disconnected: ({ provider }: { provider: string }) => ({
    subject: `${provider} was disconnected from your account`,
    text: `You can no longer sign in with ${provider}. Other browsers that signed in with it were signed out.\n\nIf this was not you, reset your password at ${env().BASE_URL}/reset-password.\n`,
  }),
} as const

export type Template = keyof typeof templates

export const templateNames = Object.keys(templates)
