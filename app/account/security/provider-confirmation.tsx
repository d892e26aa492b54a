import type { Confirmation } from "@/components/confirm/confirm-form"
import { connect, disconnect } from "./actions"

export type Named = { id: string; name: string }

export function connection({ id, name }: Named): Confirmation {
  return {
    title: `Connect ${name}?`,
    description: `You sign in at ${name} and return to this page. From then on you can sign in with ${name}.`,
    action: connect,
    fields: <input type="hidden" name="provider" value={id} />,
    submit: `Continue to ${name}`,
    kind: "primary",
  }
}

/** `id` identifies the connection, not the provider. */
export function disconnection({ id, name }: Named): Confirmation {
  return {
    title: `Disconnect ${name}?`,
    description: `You can no longer sign in with ${name}, and other browsers that signed in with it are signed out. API keys keep working.`,
    action: disconnect,
    fields: <input type="hidden" name="id" value={id} />,
    submit: `Disconnect ${name}`,
    kind: "danger",
  }
}
