import type { Confirmation } from "@/components/confirm/confirm-form"
import { TextField } from "@/components/form/fields"
import { connect, disconnect } from "./actions"

export type Named = { id: string; name: string }

/** Before a provider is connected. */
export function connection({ id, name }: Named): Confirmation {
  return {
    title: `Connect ${name}?`,
    description: `${name} asks you to sign in there and leads you back here. From then on you can sign in with ${name}.`,
    action: connect,
    fields: (
      <>
        <input type="hidden" name="provider" value={id} />
        <TextField label="Your password" name="password" type="password" autoComplete="current-password" required />
      </>
    ),
    submit: `Continue to ${name}`,
    kind: "primary",
  }
}

/** Before a provider is disconnected; `id` is that of the connection. */
export function disconnection({ id, name }: Named): Confirmation {
  return {
    title: `Disconnect ${name}?`,
    description: `${name} no longer signs in to your account, and other browsers that signed in with ${name} are signed out. API keys keep working.`,
    action: disconnect,
    fields: <input type="hidden" name="id" value={id} />,
    submit: `Disconnect ${name}`,
    kind: "danger",
  }
}
