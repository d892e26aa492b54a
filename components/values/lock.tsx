import type { Surface } from "@/lib/surfaces"

/** The mark: a lock for each surface, side by side in a square of 20 by 20 units. */
export const locks: Record<Surface, { plate: string; keyhole: string }> = {
  user: {
    plate: "M5 0h5v20H5a5 5 0 0 1-5-5V5a5 5 0 0 1 5-5Z",
    keyhole: "M5.3 5.5a2 2 0 0 1 1.1 3.7l.6 5.3H3.6l.6-5.3a2 2 0 0 1 1.1-3.7Z",
  },
  admin: {
    plate: "M10 0h5a5 5 0 0 1 5 5v10a5 5 0 0 1-5 5h-5Z",
    keyhole: "M14.7 5.5a2 2 0 0 1 1.1 3.7l.6 5.3H13l.6-5.3a2 2 0 0 1 1.1-3.7Z",
  },
}

/** The half of the mark that stands for a surface, as high as the text. */
export function Lock({ surface, className = "" }: { surface: Surface; className?: string }) {
  return (
    <svg
      viewBox={surface === "user" ? "0 0 10 20" : "10 0 10 20"}
      aria-hidden="true"
      className={`inline-block h-[1em] shrink-0 ${className}`}
    >
      <LockPaths surface={surface} />
    </svg>
  )
}

export function Keyhole({ surface, className = "" }: { surface: Surface; className?: string }) {
  return (
    <svg
      viewBox={surface === "user" ? "3 5.5 4.6 9" : "12.4 5.5 4.6 9"}
      aria-hidden="true"
      className={`fill-current ${className}`}
    >
      <path d={locks[surface].keyhole} />
    </svg>
  )
}

export function LockPaths({ surface }: { surface: Surface }) {
  return (
    <g data-surface={surface}>
      <path d={locks[surface].plate} className="fill-accent" />
      <path d={locks[surface].keyhole} className="fill-on-accent" />
    </g>
  )
}
