import type { CreateAction, Creation } from "./key-creation"
import { type NewKeyFacts, NewKeyFields } from "./new-key-fields"

/** The form for a new key. */
export function newKey({ action, ...facts }: NewKeyFacts & { action: CreateAction }): Creation {
  return { title: "Create key", action, fields: <NewKeyFields {...facts} />, submit: "Create key" }
}
