"use client"

import { ConfirmButtons } from "@/components/confirm/confirm-buttons"
import { Button } from "@/components/ui/button"
import { actionNames, confirmationOf, type FeedbackAction, isOffered, labelOf, type Subject } from "./feedback-actions"

export function RowButtons({ feedback }: { feedback: Subject }) {
  return (
    <ConfirmButtons
      confirmationOf={(_id, name) => confirmationOf(name as FeedbackAction, feedback)}
      className="flex flex-wrap gap-1 xl:flex-nowrap"
    >
      {actionNames
        .filter((name) => isOffered(name, feedback))
        .map((name) => (
          <Button key={name} type="submit" name={name} value={feedback.id} className="lg:h-7 lg:px-2">
            {labelOf(name)}
          </Button>
        ))}
    </ConfirmButtons>
  )
}
