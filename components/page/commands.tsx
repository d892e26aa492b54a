import { Untrusted } from "@/components/values/untrusted"

export type Command = { label: string; href: string }

/** Ctrl K offers them while the page is open. Each address shows a confirmation or a form, and changes nothing itself. */
export function Commands({ of: commands }: { of: readonly Command[] }) {
  return (
    <ul hidden data-commands>
      {commands.map(({ label, href }) => (
        <li key={href}>
          <a href={href}>
            <Untrusted>{label}</Untrusted>
          </a>
        </li>
      ))}
    </ul>
  )
}
