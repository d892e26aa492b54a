/** The POST forms of a page, each as a map from the names of its fields to their initial values. */
export function readForms(html: string): Record<string, string>[] {
  return formsIn(html).map(fieldsIn)
}

/** The form with this text, such as the label of its button. */
export function readForm(html: string, text: string): Record<string, string> | undefined {
  const found = formsIn(html).find((form) => form.includes(text))
  return found === undefined ? undefined : fieldsIn(found)
}

function formsIn(html: string): string[] {
  return [...html.matchAll(/<form\b[^>]*method="post"[^>]*>(.*?)<\/form>/gis)].map(([, inside = ""]) => inside)
}

function fieldsIn(form: string): Record<string, string> {
  return Object.fromEntries(
    [...form.matchAll(/<(?:input|select|textarea)\b([^>]*)>/gi)]
      .map(([, attributes = ""]) => [attributeOf(attributes, "name"), attributeOf(attributes, "value")] as const)
      .filter(([name]) => name !== ""),
  )
}

function attributeOf(attributes: string, name: string): string {
  const [, value = ""] = new RegExp(`(?:^|\\s)${name}="([^"]*)"`, "i").exec(attributes) ?? []
  return value
    .replaceAll("&quot;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")
}
