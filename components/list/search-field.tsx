import { Search } from "lucide-react"
import type { ComponentProps } from "react"
import { controlStyle } from "@/components/form/field"
import { SearchKey } from "./search-key"

export function SearchField({
  id,
  label,
  defaultValue = "",
  ...input
}: Omit<ComponentProps<"input">, "defaultValue"> & { id: string; label: string; defaultValue?: string }) {
  return (
    <div className="relative min-w-28 flex-1 sm:max-w-96 sm:min-w-64">
      <label htmlFor={id} className="sr-only">
        {label}
      </label>
      <Search aria-hidden="true" className="pointer-events-none absolute top-2.5 left-2.5 size-4 text-muted sm:top-2" />
      <input
        {...input}
        id={id}
        defaultValue={defaultValue}
        autoComplete="off"
        spellCheck={false}
        aria-keyshortcuts="/"
        className={`${controlStyle} peer pr-2 pl-8 placeholder:text-muted`}
      />
      <span
        aria-hidden="true"
        className="pointer-events-none absolute top-1.5 right-2 hidden rounded border border-line px-1.5 font-sans text-xs text-muted peer-placeholder-shown:sm:block peer-focus:sm:hidden"
      >
        /
      </span>
      <SearchKey fieldId={id} />
    </div>
  )
}
