/** The POST forms of a page, each as a map from the names of its fields to their initial values. */
export function readForms(html: string): Record<string, string>[] {
  return [...html.matchAll(/<form\b[^>]*method="post"[^>]*>(.*?)<\/form>/gis)].map(([, inside = ""]) =>
    Object.fromEntries(
      [...inside.matchAll(/<(?:input|select|textarea)\b([^>]*)>/gi)]
        .map(([, attributes = ""]) => [attributeOf(attributes, "name"), attributeOf(attributes, "value")] as const)
        .filter(([name]) => name !== ""),
    ),
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
