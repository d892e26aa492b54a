import type { ReactNode } from "react"
import { Button } from "@/components/ui/button"
import { visible } from "@/lib/platform/text/visible-text"
import { SelectAll } from "./select-all"
import { selected } from "./selected"

export const selectHeading = {
  actions: "Selection",
  control: (
    <>
      {/* Enter in a checkbox presses the form's first submit button, which is none of a row. */}
      <button type="submit" hidden />
      <SelectAll />
    </>
  ),
}

/** @param name `undefined` if no action is offered for the row */
export function SelectCell({ id, name }: { id: string; name: string | undefined }) {
  return (
    <td className="cell select">
      {name !== undefined && (
        <label className="grid size-6 cursor-pointer place-items-center">
          <input
            type="checkbox"
            name={selected}
            value={id}
            aria-label={`Select ${visible(name)}`}
            autoComplete="off"
            className="size-4 accent-accent"
          />
        </label>
      )}
    </td>
  )
}

/** Within the form around the table, and shown while a row is selected. */
export function SelectionBar({ children }: { children: ReactNode }) {
  return (
    <fieldset
      aria-label="Selected rows"
      className="selection fixed inset-x-4 bottom-4 z-3 mx-auto w-fit items-center gap-2 rounded-lg border border-line bg-panel py-2 pr-2 pl-4 shadow-2xl"
    >
      <span className="mr-2 font-medium whitespace-nowrap">selected</span>
      {children}
      <Button type="reset" kind="quiet">
        Clear
      </Button>
    </fieldset>
  )
}
