"use client"

import { ConfirmButtons } from "@/components/confirm/confirm-buttons"
import { TextField } from "@/components/form/fields"
import { ToastRegion } from "@/components/overlay/toast"
import { Button } from "@/components/ui/button"

export function ExampleConfirmation() {
  return (
    <ToastRegion>
      <ConfirmButtons
        confirmationOf={() => ({
          title: "Revoke this key?",
          description: "Requests with it are rejected from now on.",
          action: async () => ({ ok: true, done: "The key was revoked." }),
          fields: <TextField label="Reason (optional)" name="reason" />,
          submit: "Revoke",
          kind: "danger",
        })}
      >
        <Button type="submit" name="example" value="revoke" kind="danger-quiet">
          Revoke
        </Button>
      </ConfirmButtons>
    </ToastRegion>
  )
}
