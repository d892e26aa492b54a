/** The value of a form field, or fields below it: `a[0][b]=c` is `{ a: { 0: { b: "c" } } }`. */
export type Form = { [name: string]: string | Form }

/** Parses a body or a query with brackets, as Stripe's clients send them. */
export function parseForm(text: string): Form {
  const form = fields()
  for (const [name, value] of new URLSearchParams(text)) {
    const [, first = "", rest = ""] = /^([^[]*)(.*)$/.exec(name) ?? []
    const path = [first, ...[...rest.matchAll(/\[([^\]]*)\]/g)].map(([, part = ""]) => part)]
    const last = path.pop() ?? ""
    const at = path.reduce((form, part) => below(form, part || next(form)), form)
    at[last || next(at)] = value
  }
  return form
}

/** Without a prototype, so that `__proto__` is a field like any other. */
function fields(): Form {
  return Object.create(null) as Form
}

/** An empty name, as in `a[]=x`, is the next number. */
function next(form: Form): string {
  return String(Object.keys(form).length)
}

function below(form: Form, name: string): Form {
  const found = form[name]
  if (typeof found === "object") return found
  const made = fields()
  form[name] = made
  return made
}

export function textOf(form: Form, name: string): string | undefined {
  const value = form[name]
  return typeof value === "string" ? value : undefined
}

export function formOf(form: Form, name: string): Form | undefined {
  const value = form[name]
  return typeof value === "object" ? value : undefined
}

/** The items of a list, whose names are numbers. */
function listOf(form: Form, name: string): (string | Form)[] {
  return Object.values(formOf(form, name) ?? {})
}

export function formsOf(form: Form, name: string): Form[] {
  return listOf(form, name).filter((item) => typeof item === "object")
}

export function stringsOf(form: Form, name: string): string[] {
  return listOf(form, name).filter((item) => typeof item === "string")
}

export function numberOf(form: Form, name: string): number | undefined {
  const text = textOf(form, name)
  return text === undefined || !/^-?\d+$/.test(text) ? undefined : Number(text)
}

/** Metadata, where an empty value deletes a name. */
export function metadataOf(form: Form, name = "metadata", before: Record<string, string> = {}): Record<string, string> {
  const merged = { ...before }
  for (const [key, value] of Object.entries(formOf(form, name) ?? {})) {
    if (value === "") delete merged[key]
    else if (typeof value === "string") merged[key] = value
  }
  return merged
}
