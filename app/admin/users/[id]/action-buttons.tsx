"use client"

import { Button } from "@/components/button"
import { ConfirmButtons } from "@/components/confirm/confirm-buttons"
import { type AccountAction, accountActions, isAccountAction } from "./account-actions"
import { confirmationOf, type FormFacts } from "./confirmation"

/** One button per action, which opens its confirmation. */
export function ActionButtons({ actions, ...facts }: FormFacts & { actions: readonly AccountAction[] }) {
  return (
    <ConfirmButtons
      confirmationOf={(name) => (isAccountAction(name) ? confirmationOf(name, facts) : undefined)}
      className="flex flex-wrap gap-2"
    >
      {actions.map((action) => (
        <Button
          key={action}
          type="submit"
          name="action"
          value={action}
          kind={accountActions[action].kind === "danger" ? "danger-quiet" : "plain"}
          className="border border-line bg-panel"
        >
          {accountActions[action].label}
        </Button>
      ))}
    </ConfirmButtons>
  )
}
