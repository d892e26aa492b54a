import type { ComponentProps, ReactNode } from "react"
import { Table } from "@/components/ui/table"

const unfolded = 5

export function FoldedTable({
  caption,
  others,
  headings,
  rows,
}: {
  caption: string
  others: string
  headings: ComponentProps<typeof Table>["headings"]
  rows: readonly ReactNode[]
}) {
  const rest = rows.slice(unfolded)
  return (
    <>
      <Table caption={caption} headings={headings}>
        {rows.slice(0, unfolded)}
      </Table>
      {rest.length > 0 && (
        <details>
          <summary className="w-fit cursor-pointer font-medium text-muted hover:text-ink">
            Show {rest.length} more
          </summary>
          <div className="pt-3">
            <Table caption={others} headings={headings}>
              {rest}
            </Table>
          </div>
        </details>
      )}
    </>
  )
}
