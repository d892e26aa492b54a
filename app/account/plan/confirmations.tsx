import type { Confirmation } from "@/components/confirm/confirm-form"
import { cancel, change, resume, subscribe } from "./actions"

/** Texts of the confirmations of the page, by the value of their button. */
export type Question = {
  kind: "change" | "cancel" | "resume" | "subscribe"
  /** The id of a plan. */
  plan: string
  title: string
  text: string
  submit: string
}

const actions = { change, cancel, resume, subscribe }

export function confirmationOf({ kind, plan, title, text, submit }: Question): Confirmation {
  return {
    title,
    description: text,
    action: actions[kind],
    fields: <input type="hidden" name="plan" value={plan} />,
    submit,
    ...(kind === "cancel" ? { kind: "danger", dismiss: "Keep plan" } : { kind: "primary" }),
  }
}
