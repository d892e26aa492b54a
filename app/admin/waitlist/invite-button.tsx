"use client"

import { ConfirmButtons } from "@/components/confirm/confirm-buttons"
import { None } from "@/components/list/cells"
import { Button } from "@/components/ui/button"
import { type Entry, invitationOf } from "./invitation"

export function InviteButton(entry: Entry) {
  return (
    <ConfirmButtons confirmationOf={() => invitationOf(entry)}>
      {entry.status === "joined" ? (
        <None />
      ) : (
        <Button type="submit" name="invite" value={entry.id} className="lg:h-7 lg:px-2">
          {entry.status === "waiting" ? "Invite" : "Invite again"}
        </Button>
      )}
    </ConfirmButtons>
  )
}
