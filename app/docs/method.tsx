/** The accent is that of the surface. */
export function Method({ children }: { children: string }) {
  return (
    <span
      className={`rounded px-1.5 py-0.5 font-mono text-[0.6875rem] font-semibold ${children === "GET" ? "bg-sunken text-muted" : "bg-accent/10 text-accent"}`}
    >
      {children}
    </span>
  )
}
