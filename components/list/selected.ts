/** The name of the checkboxes of rows, and the value of the buttons for the selected rows. */
export const selected = "selected"

/** A confirmation without JavaScript has its rows in the URL. */
export const mostSelected = 100

type Query = Readonly<Record<string, string | string[] | undefined>>

export function selectedIn(form: HTMLFormElement): string[] {
  return idsOf(new FormData(form).getAll(selected))
}

/** The rows for which a button without JavaScript opened the page. */
export function chosenIn(query: Query, action: string): string[] {
  const value = query[action]
  if (typeof value !== "string") return []
  return value === selected ? idsOf([query[selected] ?? []].flat()) : [value]
}

function idsOf(values: readonly unknown[]): string[] {
  return values.filter((value) => typeof value === "string").slice(0, mostSelected)
}
