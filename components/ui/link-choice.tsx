import { Link } from "./link"

type Choice = { label: string; name?: string; href: string; isChosen: boolean }

export function LinkChoice({ label, choices }: { label: string; choices: readonly Choice[] }) {
  return (
    <ul aria-label={label} className="flex flex-wrap gap-1">
      {choices.map(({ label, name, href, isChosen }) => (
        <li key={label}>
          <Link
            href={href}
            aria-label={name}
            aria-current={isChosen ? "true" : undefined}
            className="flex h-9 items-center rounded-md px-2.5 font-medium whitespace-nowrap text-muted hover:bg-sunken hover:text-ink sm:h-8 aria-[current=true]:bg-accent/10 aria-[current=true]:text-accent"
          >
            {label}
          </Link>
        </li>
      ))}
    </ul>
  )
}
