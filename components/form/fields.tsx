"use client"

import { type ComponentProps, type ReactNode, useRef, useState } from "react"
import { Button } from "@/components/ui/button"
import { useHydrated } from "@/components/ui/use-hydrated"
import { controlStyle, describedBy, Field, FieldGroup } from "./field"
import { useFormState } from "./form-state"

type Labeled = { name: string; label: string; hint?: ReactNode }

export function useFormField(name: string) {
  const { id, errors, values } = useFormState()
  return { id: `${id}${name}`, error: errors[name], value: values[name] }
}

export function TextField({ name, label, hint, defaultValue, ...input }: ComponentProps<"input"> & Labeled) {
  const { id, error, value } = useFormField(name)
  return (
    <Field id={id} label={label} hint={hint} error={error}>
      <input
        {...describedBy(id, { hint: hint !== undefined, error })}
        name={name}
        defaultValue={value ?? defaultValue}
        className={controlStyle}
        {...input}
      />
    </Field>
  )
}

export function PasswordField({
  name,
  label,
  hint,
  autoComplete = "current-password",
  ...input
}: ComponentProps<"input"> & Labeled & { autoComplete?: "current-password" | "new-password" }) {
  const { id, error } = useFormField(name)
  const { pending } = useFormState()
  const hydrated = useHydrated()
  const [shown, setShown] = useState(false)
  if (shown && pending) setShown(false)
  return (
    <Field id={id} label={label} hint={hint} error={error}>
      <div className="relative">
        <input
          {...describedBy(id, { hint: hint !== undefined, error })}
          name={name}
          type={shown ? "text" : "password"}
          autoComplete={autoComplete}
          autoCapitalize="none"
          spellCheck={false}
          required
          className={`${controlStyle} pr-14`}
          {...input}
        />
        {hydrated && (
          // Named by its text: "password" in its name would make it the second control with that label.
          <button
            type="button"
            title={`${shown ? "Hide" : "Show"} password`}
            aria-controls={id}
            onClick={() => setShown(!shown)}
            className="absolute inset-y-0 right-0 rounded-md px-2.5 text-xs font-medium text-muted hover:text-ink"
          >
            {shown ? "Hide" : "Show"}
          </button>
        )}
      </div>
    </Field>
  )
}

export function NewPasswordField({ label, minLength }: { label: string; minLength: number }) {
  return (
    <PasswordField
      label={label}
      name="password"
      autoComplete="new-password"
      hint={`At least ${minLength} characters. A few words you can remember are fine.`}
    />
  )
}

export function TextAreaField({ name, label, hint, defaultValue, ...area }: ComponentProps<"textarea"> & Labeled) {
  const { id, error, value } = useFormField(name)
  return (
    <Field id={id} label={label} hint={hint} error={error}>
      <textarea
        {...describedBy(id, { hint: hint !== undefined, error })}
        name={name}
        defaultValue={value ?? defaultValue}
        className={`${controlStyle} min-h-32 py-1.5`}
        {...area}
      />
    </Field>
  )
}

export function SelectField({
  name,
  label,
  hint,
  options,
  defaultValue = "",
  ...select
}: ComponentProps<"select"> & Labeled & { options: Readonly<Record<string, string>> }) {
  const { id, error, value } = useFormField(name)
  return (
    <Field id={id} label={label} hint={hint} error={error}>
      <select
        {...describedBy(id, { hint: hint !== undefined, error })}
        name={name}
        defaultValue={value ?? defaultValue}
        className={controlStyle}
        {...select}
      >
        {Object.entries(options).map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  )
}

export function CheckboxesField({
  name,
  label,
  hint,
  options,
  presets,
}: Labeled & {
  options: Readonly<Record<string, ReactNode>>
  presets?: Readonly<Record<string, readonly string[]>> | null
}) {
  const { id, error, value } = useFormField(name)
  const hydrated = useHydrated()
  const boxes = useRef<HTMLDivElement>(null)
  const checked = value?.split("\n") ?? (presets ? [] : Object.keys(options))

  function check(preset: readonly string[]): void {
    for (const box of boxes.current?.querySelectorAll("input") ?? []) box.checked = preset.includes(box.value)
  }

  return (
    <FieldGroup id={id} legend={label} hint={hint} error={error}>
      {hydrated && presets && (
        <div className="flex flex-wrap gap-1.5">
          {Object.entries(presets).map(([preset, values]) => (
            <Button key={preset} onClick={() => check(values)} className="h-7 px-2 text-xs">
              {preset}
            </Button>
          ))}
        </div>
      )}
      <div ref={boxes} className="grid gap-1.5">
        {Object.entries(options).map(([option, text]) => (
          <label key={option} className="flex items-start gap-2">
            <input
              type="checkbox"
              name={name}
              value={option}
              defaultChecked={checked.includes(option)}
              className="mt-0.5 size-4 shrink-0 accent-accent"
            />
            <span className="min-w-0">{text}</span>
          </label>
        ))}
      </div>
    </FieldGroup>
  )
}

/** Stays the same when the page is refreshed; see lib/platform/schemas/form-fields.ts. */
export function RequestId({ id }: { id: string }) {
  const [first] = useState(id)
  return <input type="hidden" name="requestId" value={useFormField("requestId").value ?? first} />
}

export function SubmitButton(props: ComponentProps<typeof Button>) {
  const { pending } = useFormState()
  return <Button kind="primary" type="submit" aria-disabled={pending} {...props} />
}
