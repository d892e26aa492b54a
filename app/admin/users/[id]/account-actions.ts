import type { ButtonKind } from "@/components/button"
import type { UserStatus } from "@/generated/prisma/enums"
import type { ChangeResult } from "@/lib/accounts/mutations"
import type { CreditResult } from "@/lib/credits/mutations"
import { inCredits } from "@/lib/credits/words"
import type { Permission } from "@/lib/permissions"

/** The account that an action is about, as a confirmation names it; the balance is for viewers who may read it. */
export type Subject = { id: string; name: string; email: string; role: string; balance: number | null }

/** What a form asks for. `why` is a reason that may be left out. */
export type ActionField = "role" | "amount" | "reason" | "why"

type Action = {
  /** On the button that asks for the confirmation, and on the one that confirms. */
  label: string
  title: string
  /** Goes on after the account's name. */
  effect: (account: Subject) => string
  kind: ButtonKind
  permission: Permission
  /** What the account may be for the action to make sense. */
  statuses: readonly UserStatus[]
  fields: readonly ActionField[]
}

function ofCredits({ balance }: Subject): string {
  if (balance === null) return "can read the reason in the ledger."
  return `has ${inCredits(balance)}. The reason stands in the ledger, for them to read.`
}

/** Everything the console does to an account, and the words for it. */
export const accountActions = {
  role: {
    label: "Change role",
    title: "Change the role of this account",
    effect: ({ role }) => `is ${role} now. Pages and admin keys follow the new role from the next request on.`,
    kind: "primary",
    permission: "users.manage",
    statuses: ["active", "banned"],
    fields: ["role"],
  },
  grant: {
    label: "Grant credits",
    title: "Grant credits to this account",
    effect: ofCredits,
    kind: "primary",
    permission: "credits.manage",
    statuses: ["active", "banned"],
    fields: ["amount", "reason"],
  },
  deduct: {
    label: "Deduct credits",
    title: "Deduct credits from this account",
    effect: ofCredits,
    kind: "danger",
    permission: "credits.manage",
    statuses: ["active", "banned"],
    fields: ["amount", "reason"],
  },
  unban: {
    label: "Take back the ban",
    title: "Take back the ban of this account?",
    effect: () => "will be able to sign in again, and keys that have neither expired nor been revoked work again.",
    kind: "primary",
    permission: "users.manage",
    statuses: ["banned"],
    fields: [],
  },
  ban: {
    label: "Ban account",
    title: "Ban this account?",
    effect: () => "will be signed out, and their keys are refused from the next request on. A ban can be taken back.",
    kind: "danger",
    permission: "users.manage",
    statuses: ["active"],
    fields: ["why"],
  },
  close: {
    label: "Close account",
    title: "Close this account for good?",
    effect: () => "will be signed out, and their keys are refused from the next request on. This cannot be undone.",
    kind: "danger",
    permission: "users.manage",
    statuses: ["active", "banned"],
    fields: ["why"],
  },
} as const satisfies Record<string, Action>

export type AccountAction = keyof typeof accountActions

export const actionNames = Object.keys(accountActions) as AccountAction[]

export function isAccountAction(name: unknown): name is AccountAction {
  return typeof name === "string" && Object.hasOwn(accountActions, name)
}

type Refused = Extract<ChangeResult | CreditResult, { ok: false }>["reason"]

/** Why an action is not carried out, or not offered. */
export const refusals = {
  not_permitted: "Your role does not hold the permission for this.",
  oneself: "Nobody changes their own role, or bans or closes their own account: another owner or admin can.",
  beyond_actor: "This account’s role holds permissions that yours lacks, so you cannot ban, close or change it.",
  role_beyond_actor: "This role holds permissions that yours lacks.",
  not_found: "There is no such account.",
  closed: "The account is closed: its role, its state and its credits stay as they are.",
  last_owner: "This is the last active owner. Make another account owner first.",
  insufficient: "The balance does not cover this.",
  too_much: "The balance would grow beyond what can be counted exactly.",
} as const satisfies Record<Refused, string>
