import type { ReactNode } from "react"

/** 16 px on narrow screens, because iOS zooms into a focused field with smaller text. */
export const controlStyle =
  "h-9 w-full min-w-0 rounded-md border border-edge bg-panel px-2.5 text-base text-ink sm:h-8 sm:text-sm aria-invalid:border-bad"

type Noted = { id: string; hint?: ReactNode; error?: string | undefined }

export function Field({ id, label, hint, error, children }: Noted & { label: string; children: ReactNode }) {
  return (
    <div className="grid gap-1.5">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      {children}
      <FieldNotes id={id} error={error} hint={hint} />
    </div>
  )
}

export function FieldGroup({ id, legend, hint, error, children }: Noted & { legend: string; children: ReactNode }) {
  const { "aria-describedby": notes } = describedBy(id, { hint: hint !== undefined, error })
  return (
    <fieldset className="grid min-w-0 gap-1.5" aria-describedby={notes} {...(error && { "data-invalid": "" })}>
      <legend className="mb-1.5 font-medium">{legend}</legend>
      {children}
      <FieldNotes id={id} error={error} hint={hint} />
    </fieldset>
  )
}

function FieldNotes({ id, error, hint }: Noted) {
  return (
    <>
      {error && (
        <p id={`${id}-error`} role="alert" className="text-bad">
          {error}
        </p>
      )}
      {hint && !error && (
        <div id={`${id}-hint`} className="text-muted">
          {hint}
        </div>
      )}
    </>
  )
}

export function describedBy(id: string, { hint, error }: { hint?: boolean; error?: string | undefined }) {
  const note = error ? `${id}-error` : hint && `${id}-hint`
  return { id, ...(note && { "aria-describedby": note }), ...(error && { "aria-invalid": true }) }
}
