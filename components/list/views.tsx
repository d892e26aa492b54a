import { LinkChoice } from "@/components/ui/link-choice"

export type View = { label: string; note?: string; search: string }

export function isChosen({ search }: Pick<View, "search">, query: URLSearchParams): boolean {
  return search === String(query)
}

export function Views({ page, query, views }: { page: string; query: URLSearchParams; views: readonly View[] }) {
  const choices = [{ label: "All", search: "" }, ...views].map((view) => ({
    label: view.label,
    href: view.search === "" ? page : `${page}?${view.search}`,
    isChosen: isChosen(view, query),
  }))
  return (
    <nav aria-label="Views" className="-mb-3">
      <LinkChoice label="Views" choices={choices} />
    </nav>
  )
}
