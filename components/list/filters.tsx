import Form from "next/form"
import type { ReactNode } from "react"
import { Button, buttonStyle } from "@/components/button"
import { controlStyle, Field } from "@/components/field"
import { Link } from "@/components/link"
import { jsonSchemaOf } from "@/lib/api/document"
import type { Parameters } from "@/lib/api/parameters"

/** The filters of an endpoint as a form. Its fields are the API parameters, so the resulting URL can be shared. */
export function Filters({ page, filters, query }: { page: string; filters: Parameters; query: URLSearchParams }) {
  const limit = query.get("limit")
  const { sort, ...rest } = filters
  return (
    <Form
      action={page}
      key={String(query)}
      role="search"
      aria-label="Filters"
      className="grid grid-cols-2 items-end gap-x-3 gap-y-3 sm:flex sm:flex-wrap"
    >
      {Object.entries(rest).map(([name, schema]) => (
        <Filter key={name} name={name} schema={jsonSchemaOf(schema, "input")} given={query.get(name) ?? ""} />
      ))}
      <Moment name="since" label="Created since" given={query.get("since") ?? ""} />
      <Moment name="until" label="Created until" given={query.get("until") ?? ""} />
      {sort && <Filter name="sort" schema={jsonSchemaOf(sort, "input")} given={query.get("sort") ?? ""} />}
      <Choice name="order" label="Order" given={query.get("order") ?? ""} options={sort ? directions : orders} />
      {limit && <input type="hidden" name="limit" value={limit} />}
      <div className="col-span-2 flex gap-2">
        <Button type="submit">Apply</Button>
        {query.size > 0 && (
          <Link href={page} className={buttonStyle("quiet")}>
            Clear
          </Link>
        )}
      </div>
    </Form>
  )
}

const orders = { "": "Newest first", asc: "Oldest first" }
const directions = { "": "Descending", asc: "Ascending" }

function Filter({ name, schema, given }: { name: string; schema: ReturnType<typeof jsonSchemaOf>; given: string }) {
  const label = labelOf(name)
  if (/(Since|Until)$/.test(name)) return <Moment name={name} label={label} given={given} />
  const { enum: values, default: preset, minLength, maxLength } = schema
  if (values) {
    // The values of `sort` are names of fields. Names like `api_key.issued` are shown as they are.
    const textOf =
      name === "sort" ? labelOf : (value: string) => (value.includes(".") ? value : value.replaceAll("_", " "))
    const options = Object.fromEntries(values.map((value) => [String(value), textOf(String(value))]))
    if (preset !== undefined)
      return <Choice name={name} label={label} given={given || String(preset)} options={options} />
    return <Choice name={name} label={label} given={given} options={{ "": "Any", ...options }} />
  }
  return (
    <FilterField name={name} label={label}>
      <input
        id={`filter-${name}`}
        name={name}
        type={name === "q" ? "search" : "text"}
        minLength={minLength}
        maxLength={maxLength}
        defaultValue={given}
        autoComplete="off"
        spellCheck={false}
        className={controlStyle}
      />
    </FilterField>
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
  options: Record<string, string>
}) {
  return (
    <FilterField name={name} label={label}>
      <select
        id={`filter-${name}`}
        name={name}
        defaultValue={Object.hasOwn(options, given) ? given : ""}
        className={controlStyle}
      >
        {Object.entries(options).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </FilterField>
  )
}

/** A date field, or a text field if the given value is in another of the API's time formats. */
export function Moment({ name, label, given }: { name: string; label: string; given: string }) {
  const isDate = given === "" || /^\d{4}-\d\d-\d\d$/.test(given)
  return (
    <FilterField name={name} label={label}>
      <input
        id={`filter-${name}`}
        name={name}
        type={isDate ? "date" : "text"}
        defaultValue={given}
        className={controlStyle}
      />
    </FilterField>
  )
}

function FilterField({ name, label, children }: { name: string; label: string; children: ReactNode }) {
  return (
    <div className="min-w-0 sm:w-36">
      <Field id={`filter-${name}`} label={label}>
        {children}
      </Field>
    </div>
  )
}

/** `userId` becomes "User ID". */
function labelOf(name: string): string {
  if (name === "q") return "Search"
  const words = name
    .replaceAll(/([A-Z])/g, " $1")
    .toLowerCase()
    .replace(/ id$/, " ID")
  return words.charAt(0).toUpperCase() + words.slice(1)
}
