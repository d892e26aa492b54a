"use client"

import { ConfirmButtons } from "@/components/confirm/confirm-buttons"
import { Button } from "@/components/ui/button"
import { confirmationOf, type DeletionFacts } from "./deletion-confirmation"

export function DeletionButton(facts: DeletionFacts) {
  return (
    <ConfirmButtons confirmationOf={() => confirmationOf(facts)}>
      <Button type="submit" name="delete" value="account" kind="danger-quiet" className="border border-line">
        Delete account
      </Button>
    </ConfirmButtons>
  )
}
