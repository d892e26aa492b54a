import type { ButtonKind } from "@/components/ui/button"
import type { UserStatus } from "@/generated/prisma/enums"
import { graceDays } from "@/lib/accounts/grace-days"
import type { ChangeResult } from "@/lib/accounts/mutations"
import type { CreditResult } from "@/lib/credits/mutations"
import { inCredits } from "@/lib/credits/words"
import type { AccountRevocation } from "@/lib/keys/mutations"
import type { Permission } from "@/lib/permissions"

/** `balance` is null for viewers who may not read balances. */
export type Subject = { id: string; name: string; email: string; role: string; balance: number | null }

/** `why` is an optional reason. */
export type ActionField = "role" | "requestId" | "amount" | "reason" | "why" | "revocation"

export type Action = {
  label: string
  /** Continued by the account's name. */
  command: string
  title: string
  /** Continues the sentence that starts with the account's name. */
  effect: (account: Subject) => string
  kind: ButtonKind
  permission: Permission
  statuses: readonly UserStatus[]
  /** While a deletion of the account is pending; none if omitted. */
  whileLeaving?: readonly UserStatus[]
  fields: readonly ActionField[]
}

function ofCredits({ balance }: Subject): string {
  if (balance === null) return "sees this reason in the credit ledger."
  return `has ${inCredits(balance)}. The customer sees this reason.`
}

export const accountActions = {
  role: {
    label: "Change role",
    command: "Change the role of",
    title: "Change the role of this account",
    effect: ({ role }) =>
      `currently has the role ${role}. The new role applies from the next request, to pages and to admin keys.`,
    kind: "primary",
    permission: "users.manage",
    statuses: ["active", "banned"],
    fields: ["role"],
  },
  grant: {
    label: "Grant credits",
    command: "Grant credits to",
    title: "Grant credits to this account",
    effect: ofCredits,
    kind: "primary",
    permission: "credits.manage",
    statuses: ["active", "banned"],
    fields: ["requestId", "amount", "reason"],
  },
  deduct: {
    label: "Deduct credits",
    command: "Deduct credits from",
    title: "Deduct credits from this account",
    effect: ofCredits,
    kind: "danger",
    permission: "credits.manage",
    statuses: ["active", "banned"],
    fields: ["requestId", "amount", "reason"],
  },
  revokeKeys: {
    label: "Revoke all keys",
    command: "Revoke all keys of",
    title: "Revoke all keys of this account?",
    effect: () =>
      "can still create new keys. Every request with an existing key is rejected from now on. This cannot be undone.",
    kind: "danger",
    permission: "users.manage",
    statuses: ["active", "banned"],
    whileLeaving: ["banned", "closed"],
    fields: ["revocation"],
  },
  removePicture: {
    label: "Remove picture",
    command: "Remove the picture of",
    title: "Remove the picture of this account?",
    effect: () => "will be shown with initials, and can upload another picture. The removed one cannot be restored.",
    kind: "danger",
    permission: "users.manage",
    statuses: ["active", "banned", "closed"],
    whileLeaving: ["banned", "closed"],
    fields: [],
  },
  unban: {
    label: "Unban",
    command: "Unban",
    title: "Unban this account?",
    effect: () => "will be able to sign in again. Keys that are not expired or revoked will work again.",
    kind: "primary",
    permission: "users.manage",
    statuses: ["banned"],
    whileLeaving: ["banned"],
    fields: [],
  },
  ban: {
    label: "Ban account",
    command: "Ban",
    title: "Ban this account?",
    effect: () =>
      "will be signed out, and their keys will stop working on the next request. A subscription is canceled at the end of its period. You can unban the account later, which does not resume the subscription.",
    kind: "danger",
    permission: "users.manage",
    statuses: ["active"],
    whileLeaving: ["closed"],
    fields: ["why"],
  },
  undoDeletion: {
    label: "Undo deletion",
    command: "Undo the deletion of",
    title: "Undo the deletion of this account?",
    effect: () =>
      "will not be deleted. If the request closed the account, it opens again, and its keys work. A canceled subscription is not resumed.",
    kind: "primary",
    permission: "users.manage",
    statuses: [],
    whileLeaving: ["closed", "banned"],
    fields: [],
  },
  close: {
    label: "Close account",
    command: "Close",
    title: "Permanently close this account?",
    effect: () =>
      "will be signed out, and their keys will stop working on the next request. A subscription is canceled now, without a refund. This cannot be undone.",
    kind: "danger",
    permission: "users.manage",
    statuses: ["active", "banned"],
    fields: ["why"],
  },
  delete: {
    label: "Delete account",
    command: "Delete",
    title: "Delete this account?",
    effect: () =>
      `will be closed now, and a subscription canceled. Their personal data will be deleted permanently in ${graceDays} days; orders and the credit ledger stay, without a person. Until then you can undo the deletion. So can they after a sign-in, unless the account is already banned or closed. They get an email.`,
    kind: "danger",
    permission: "users.manage",
    statuses: ["active", "banned", "closed"],
    fields: [],
  },
} as const satisfies Record<string, Action>

export type AccountAction = keyof typeof accountActions

export const actionNames = Object.keys(accountActions) as AccountAction[]

export function isAccountAction(name: unknown): name is AccountAction {
  return typeof name === "string" && Object.hasOwn(accountActions, name)
}

type Refused = Extract<ChangeResult | CreditResult | AccountRevocation, { ok: false }>["reason"]

export const refusals = {
  not_permitted: "Your role lacks the permission for this action. Ask an owner or admin.",
  oneself: "You cannot use these actions on your own account. Ask another owner or admin.",
  beyond_actor: "Only an owner can change the role of this account, ban, close or delete it, or revoke its keys.",
  role_beyond_actor: "Only an owner can give this role.",
  not_found: "This account does not exist.",
  no_such_key: "This key does not exist.",
  closed: "This account is closed. Its role, status and credits can no longer be changed.",
  leaving: "It is too late: the personal data of this account is being deleted.",
  deleted: "The personal data of this account was deleted.",
  insufficient: "The account does not have enough credits.",
  too_much: "The balance would exceed the maximum. Enter a smaller amount.",
} as const satisfies Record<Refused | "deleted", string>
