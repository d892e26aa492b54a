import type { ComponentProps } from "react"

const base =
  "inline-flex h-9 shrink-0 items-center justify-center gap-1.5 rounded-md px-3 text-sm font-medium whitespace-nowrap no-underline motion-safe:transition-colors select-none sm:h-8 disabled:opacity-60 aria-disabled:opacity-60"

const kinds = {
  primary: "bg-accent text-on-accent hover:bg-accent-strong",
  plain: "border border-line bg-panel text-ink hover:bg-sunken",
  quiet: "text-muted hover:bg-sunken hover:text-ink",
  danger: "bg-bad text-on-accent hover:bg-bad-strong",
  "danger-quiet": "text-bad hover:bg-bad/10",
} as const

export type ButtonKind = keyof typeof kinds

export function buttonStyle(kind: ButtonKind = "plain"): string {
  return `${base} ${kinds[kind]}`
}

export function Button({
  kind = "plain",
  className = "",
  type = "button",
  ...props
}: ComponentProps<"button"> & { kind?: ButtonKind }) {
  return <button type={type} className={`${buttonStyle(kind)} ${className}`} {...props} />
}
