import { InvalidEvent } from "./errors"
import type { Concern } from "./provider"

// Ids and texts of a provider reach the database, whose errors would be a 500 for each repetition of an event.

const maxCharacters = 500

/** @throws InvalidEvent if one is no id */
export function checkIds(eventId: unknown, concerns: readonly Concern[]): void {
  const ids: unknown[] = [eventId ?? "none", ...concerns.map(({ id }) => id)]
  if (!ids.every(isId)) throw new InvalidEvent("The event names an object by something that is no id.")
}

export function isId(id: unknown): boolean {
  return typeof id === "string" && /^[\x21-\x7e]{1,255}$/.test(id)
}

/** The facts with texts that PostgreSQL can store. A replaced NUL makes an id another one, and never one that exists. */
export function storable<Facts>(facts: Facts): Facts {
  if (typeof facts === "string") {
    const text: string = facts.slice(0, maxCharacters).replaceAll("\0", "\uFFFD").toWellFormed()
    return text as Facts
  }
  if (Array.isArray(facts)) return facts.map(storable) as Facts
  if (typeof facts !== "object" || facts === null || facts instanceof Date) return facts
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, storable(value)])) as Facts
}

export const maxInteger = 2_147_483_647

/** Whether the books have room for it: a currency of ISO 4217, and amounts of up to four bytes. */
export function isBookable({ currency, amount }: { currency: string; amount: number }): boolean {
  return /^[a-z]{3}$/.test(currency) && Number.isInteger(amount) && amount >= 0 && amount <= maxInteger
}
