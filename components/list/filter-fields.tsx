import type { ReactNode } from "react"
import { controlStyle, Field } from "@/components/form/field"
import { type Filter, groupOf } from "./filter"

export function FilterField({ filter }: { filter: Filter }) {
  const { name, label, given, shown, kind, options, minLength, maxLength } = filter
  if (kind === "time") return <Moment name={name} label={label} given={given} />
  if (options) return <Choice name={name} label={label} given={given} options={options} />
  return (
    <Labeled name={name} label={label}>
      <input
        id={`filter-${name}`}
        name={name}
        type="text"
        minLength={minLength}
        maxLength={maxLength}
        defaultValue={shown}
        placeholder={filter.placeholder}
        autoComplete="off"
        spellCheck={false}
        className={`${controlStyle} placeholder:text-muted`}
      />
    </Labeled>
  )
}

export function Choice({
  name,
  label,
  given,
  options,
}: {
  name: string
  label: string
  given: string
  options: Readonly<Record<string, string>>
}) {
  return (
    <Labeled name={name} label={label}>
      <select
        id={`filter-${name}`}
        name={name}
        defaultValue={Object.hasOwn(options, given) ? given : ""}
        className={controlStyle}
      >
        {groupsOf(options).map(([group, options]) =>
          group ? (
            <optgroup key={group} label={group}>
              <Options value={options} />
            </optgroup>
          ) : (
            <Options key="" value={options} />
          ),
        )}
      </select>
    </Labeled>
  )
}

type Option = readonly [value: string, text: string]

function groupsOf(options: Readonly<Record<string, string>>): [string, Option[]][] {
  const groups = new Map<string, Option[]>()
  // Integers are the first keys of every object.
  const isInteger = ([value]: Option) => Number(/^\d+$/.test(value))
  for (const option of Object.entries(options).sort((one, other) => isInteger(one) - isInteger(other))) {
    const group = groupOf(option[0]) ?? ""
    groups.set(group, [...(groups.get(group) ?? []), option])
  }
  return [...groups]
}

function Options({ value: options }: { value: readonly Option[] }) {
  return options.map(([value, text]) => (
    <option key={value} value={value}>
      {text}
    </option>
  ))
}

/** A text field if the given value is in another of the API's time formats. */
export function Moment({ name, label, given }: { name: string; label: string; given: string }) {
  const isDate = given === "" || /^\d{4}-\d\d-\d\d$/.test(given)
  return (
    <Labeled name={name} label={label}>
      <input
        id={`filter-${name}`}
        name={name}
        type={isDate ? "date" : "text"}
        defaultValue={given}
        className={controlStyle}
      />
    </Labeled>
  )
}

function Labeled({ name, label, children }: { name: string; label: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <Field id={`filter-${name}`} label={label}>
        {children}
      </Field>
    </div>
  )
}
