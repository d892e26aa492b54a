import { jsonSchemaOf } from "@/lib/api/documents/document"
import type { Parameters } from "@/lib/api/parameters"
import { calendarDate } from "@/lib/platform/text/format-time"
import { capitalized, inWords } from "@/lib/platform/text/words"

export type Known = {
  choices?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Addresses by account id; undefined if the viewer may not read accounts. */
  accounts?: ReadonlyMap<string, string> | undefined
  finds?: string
}

export type Filter = {
  name: string
  label: string
  given: string
  isActive: boolean
  shown: string
  text: string
  kind: "time" | "account" | "other"
  options?: Readonly<Record<string, string>>
  placeholder?: string
  minLength?: number | undefined
  maxLength?: number | undefined
}

export const accountFilters = ["userId", "actorId", "targetId"] as const

const labels: Readonly<Record<string, string>> = {
  q: "Search",
  since: "Created since",
  until: "Created until",
  kind: "Type",
  userId: "Account",
  keyId: "Key",
  actorId: "Actor",
  targetId: "Target",
  planId: "Plan",
  cancelAtPeriodEnd: "Cancels at period end",
  canceledSince: "Ended since",
  canceledUntil: "Ended until",
  idleDays: "Days without a call",
  id: "IDs",
  below: "Balance below",
}

const texts: Readonly<Record<string, string>> = {
  true: "Yes",
  false: "No",
  "user.sign_in_failed": "Sign-in failed",
  "user.noted": "Note added",
  "api_key.issued": "Created",
}

export function filterOf(
  name: string,
  schema: Parameters[string],
  query: URLSearchParams,
  { choices = {}, accounts }: Known,
): Filter {
  const { enum: values, minimum, maximum, default: preset, minLength, maxLength } = jsonSchemaOf(schema, "input")
  const sent = query.get(name) ?? ""
  const given = sent === preset ? "" : sent
  const kind = isTime(name) ? "time" : isAccount(name) ? "account" : "other"
  const options = optionsOf(name, values ?? integers(minimum, maximum), preset)
  const known = choices[name]
  const offered = known
    ? { "": "Any", ...known, ...(given !== "" && { [given]: textIn(known, given) ?? given }) }
    : options
  const shown = accounts?.get(given) ?? given
  return {
    name,
    label: labelOf(name),
    given,
    isActive: query.has(name),
    shown,
    text: kind === "time" ? calendarDate(given) : ((offered && wholeText(offered, given)) ?? shown),
    kind,
    ...(offered && { options: offered }),
    ...(kind === "account" && { placeholder: accounts ? "Name, email or ID" : "Account ID" }),
    minLength,
    maxLength,
  }
}

function wholeText(options: Readonly<Record<string, string>>, value: string): string | undefined {
  const [text, group] = [textIn(options, value), groupOf(value)]
  return text && group ? `${group} ${text.toLowerCase()}` : text
}

const groups: Readonly<Record<string, string>> = { user: "Account", api_key: "API key" }

export function groupOf(value: string): string | undefined {
  const [, group] = /^([a-z_]+)\.[a-z_]+$/.exec(value) ?? []
  return group && (groups[group] ?? capitalized(group))
}

/** Own properties only: a client can send the name of an inherited one, such as `constructor`. */
function textIn(options: Readonly<Record<string, string>>, value: string): string | undefined {
  return Object.hasOwn(options, value) ? options[value] : undefined
}

function isTime(name: string): boolean {
  return /(^s|S)ince$|(^u|U)ntil$/.test(name)
}

function isAccount(name: string): boolean {
  return accountFilters.some((filter) => filter === name)
}

function integers(minimum: number | undefined, maximum: number | undefined): number[] | undefined {
  if (minimum === undefined || maximum === undefined || maximum - minimum > 10) return undefined
  return Array.from({ length: maximum - minimum + 1 }, (_, index) => minimum + index)
}

function optionsOf(
  name: string,
  values: readonly unknown[] | undefined,
  preset: unknown,
): Record<string, string> | undefined {
  const textOf = (value: string) => {
    // The values of `sort` are names of fields.
    if (name === "sort") return labelOf(value)
    if (name === "status") return inWords(value)
    const words = value.slice(groupOf(value) ? value.indexOf(".") + 1 : 0).replaceAll("_", " ")
    return texts[value] ?? (groupOf(value) ? capitalized(words) : words)
  }
  const others = values?.map(String).filter((value) => value !== preset)
  return (
    others && {
      "": preset === undefined ? "Any" : textOf(String(preset)),
      ...Object.fromEntries(others.map((value) => [value, textOf(value)])),
    }
  )
}

function labelOf(name: string): string {
  const words = name
    .replaceAll(/([A-Z])/g, " $1")
    .toLowerCase()
    .replace(/ id$/, " ID")
  return labels[name] ?? capitalized(words)
}
