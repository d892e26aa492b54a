import { env } from "@/lib/env"
import { kinds, type Surface } from "@/lib/surfaces"

type KeyFacts = { surface: Surface; keyName: string; start: string }

/** What a mail server says of a `confidential` letter stays out of the log, for it may quote what it refuses. */
export type EmailMessage = { subject: string; text: string; confidential?: true }

/** Every letter the application writes. None of them holds a key, a password or a link that signs in by itself. */
export const templates = {
  welcome: ({ name }: { name: string }) => ({
    subject: "Welcome to tsk",
    text: `Hello ${name},\n\nyour account is ready. Make your first API key at ${env().BASE_URL}${kinds.user.page}.\n`,
  }),
  key_created: (key: KeyFacts) => ({
    subject: `A new API key: ${key.start}…`,
    text: `The key "${key.keyName}" (${key.start}…) was created for your account.\n\nWas it not you? Revoke it at ${env().BASE_URL}${kinds[key.surface].page} and change your password.\n`,
  }),
  key_revoked: (key: KeyFacts) => ({
    subject: `An API key was revoked: ${key.start}…`,
    text: `The key "${key.keyName}" (${key.start}…) of your account was revoked. Whatever still sends it is refused.\n`,
  }),
  password_reset: ({ token, minutes }: { token: string; minutes: number }) => ({
    subject: "Set a new password",
    text: `Somebody, probably you, asked to set a new password for your account at ${env().BASE_URL}. This link does it, once, within ${minutes} minutes:\n\n${env().BASE_URL}/reset-password/${token}\n\nWas it not you? Then do nothing: your password stays as it is.\n`,
    confidential: true,
  }),
  password_changed: ({ name }: { name: string }) => ({
    subject: "Your password was changed",
    text: `Hello ${name},\n\nthe password of your account was changed, and every other browser was signed out. API keys go on working.\n\nWas it not you? Set another password at ${env().BASE_URL}/reset-password and revoke the keys you do not know at ${env().BASE_URL}${kinds.user.page}.\n`,
  }),
} as const

export type Template = keyof typeof templates

export const templateNames = Object.keys(templates)
