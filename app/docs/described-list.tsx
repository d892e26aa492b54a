import { anchorOf } from "@/app/_shell/documents/endpoint-parts"
import { Breakable } from "@/components/values/breakable"
import type { Described } from "@/lib/api/documents/document"
import { Code, Prose } from "./prose"

/** @param place the beginning of the anchors of its items */
export function DescribedList({ value, place }: { value: readonly Described[]; place: string }) {
  return (
    <ul className="divide-y divide-line">
      {value.map(({ name, type, description, untrusted, fields }) => {
        const id = anchorOf(place, name)
        return (
          <li key={name} id={id} className="grid gap-x-3 gap-y-0.5 py-1.5 sm:grid-cols-[11rem_minmax(0,1fr)]">
            <Code>{name}</Code>
            <div className="text-muted">
              <Type>{fields.length > 0 ? shapeOf(type) : type}</Type>
              {untrusted && (
                <a href="/docs#untrusted-text" className="mr-2 py-1 text-warn hover:underline">
                  <span className="rounded-full bg-warn/10 px-2 py-px text-xs font-medium">untrusted</span>
                </a>
              )}
              {description && <Prose>{description}</Prose>}
            </div>
            {fields.length > 0 && (
              <div className="border-l border-line pl-3 sm:col-span-2">
                <DescribedList value={fields} place={id} />
              </div>
            )}
          </li>
        )
      })}
    </ul>
  )
}

/** More than these would hide the names of the next fields. */
const maxValues = 12

function Type({ children }: { children: string }) {
  const values = children.split("|").length
  const text = <Breakable after="|">{children}</Breakable>
  if (values <= maxValues) return <span className="mr-2 text-ink wrap-anywhere">{text}</span>
  return (
    <details className="text-ink wrap-anywhere">
      <summary className="cursor-pointer py-0.5">one of {values} values</summary>
      {text}
    </details>
  )
}

/** Leaves out the field names, because the fields are listed below the type. */
function shapeOf(type: string): string {
  return type.replace(/\{.*\}/, "object").replace("list of object", "list of objects")
}
