import { type AccountAction, accountActions, type Subject } from "./account-actions"

/** Names the account and describes the effect of the action. */
export function ActionFacts({ action, account }: { action: AccountAction; account: Subject }) {
  return (
    <>
      <strong className="font-semibold text-ink wrap-anywhere">{account.name}</strong> (
      <span className="wrap-anywhere">{account.email}</span>) {accountActions[action].effect(account)}
    </>
  )
}
