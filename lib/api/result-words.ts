/** The numbers of a result that pages show, each with its noun for one and for more. */
export type Counts<Result = Record<string, unknown>> = {
  readonly [Field in keyof Result]?: readonly [one: string, many: string]
}

export function countsInWords(counts: Counts, result: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(counts).flatMap(([field, nouns]) => {
    const value = result[field]
    if (typeof value !== "number" || !nouns) return []
    return `${value.toLocaleString("en")} ${value === 1 ? nouns[0] : nouns[1]}`
  })
}
