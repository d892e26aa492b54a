/** A labeled number inside a `dl`. */
export function Tile({ label, note, children }: { label: string; note?: string; children: string }) {
  return (
    <div className="grid content-start gap-1 rounded-lg border border-line bg-panel p-3">
      <dt className="text-xs text-muted">{label}</dt>
      <dd className="text-base font-semibold whitespace-pre-line">{children}</dd>
      {note && <dd className="text-xs text-muted">{note}</dd>}
    </div>
  )
}
