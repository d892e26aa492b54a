"use client"

import { useEffect, useRef } from "react"
import { Button, buttonStyle } from "@/components/button"
import { TextAreaField } from "@/components/field"
import { SignedOut } from "@/components/keys/revoke-form"
import { Notice } from "@/components/notice"
import { useFormSubmission } from "@/components/use-form-submission"
import { sendFeedback } from "./actions"

const ratings = { 1: "Bad", 2: "Poor", 3: "Fair", 4: "Good", 5: "Great" } as const

export function FeedbackForm({ maxLength }: { maxLength: number }) {
  const { response, lost, pending, form } = useFormSubmission(sendFeedback)
  const area = useRef<HTMLDivElement>(null)
  const values = response?.ok === false ? response.values : { rating: "", message: "" }
  const errors = response?.ok === false && response.reason === "invalid" ? response.errors : {}

  useEffect(() => {
    if (response)
      area.current?.querySelector<HTMLElement>("[data-invalid] input, [aria-invalid=true], [tabindex]")?.focus()
  }, [response])

  return (
    <div ref={area}>
      {response?.ok ? (
        <ThankYou />
      ) : (
        <form {...form} className="grid gap-4">
          {lost && (
            <Notice tone="bad" role="alert">
              There was no response. Check your connection and try again. Duplicate feedback is stored only once.
            </Notice>
          )}
          {response?.reason === "refused" && (
            <Notice tone="bad" role="alert">
              {response.message}
            </Notice>
          )}
          {response?.reason === "signed_out" && (
            <Notice tone="bad" role="alert">
              <SignedOut />
            </Notice>
          )}
          <RatingField value={values.rating} error={errors.rating} />
          <TextAreaField
            id="message"
            label="Message"
            name="message"
            required
            rows={6}
            hint={`At most ${maxLength.toLocaleString("en")} characters.`}
            defaultValue={values.message}
            error={errors.message}
          />
          <Button kind="primary" type="submit" aria-disabled={pending} className="justify-self-start">
            Send feedback
          </Button>
        </form>
      )}
    </div>
  )
}

function RatingField({ value, error }: { value: string; error: string | undefined }) {
  return (
    <fieldset
      className="grid gap-1.5"
      aria-describedby={error && "rating-error"}
      data-invalid={error === undefined ? undefined : ""}
    >
      <legend className="mb-1.5 font-medium">How would you rate tsk?</legend>
      <div className="grid gap-1.5 sm:grid-cols-5">
        {Object.entries(ratings).map(([rating, word]) => (
          <label
            key={rating}
            className="flex h-9 items-center gap-1.5 rounded-md border border-line px-2 hover:bg-sunken has-checked:border-accent has-checked:bg-accent/10"
          >
            <input
              type="radio"
              name="rating"
              value={rating}
              required
              defaultChecked={rating === value}
              className="accent-accent"
            />
            <span className="whitespace-nowrap">
              {rating} {word}
            </span>
          </label>
        ))}
      </div>
      {error && (
        <p id="rating-error" role="alert" className="text-bad">
          {error}
        </p>
      )}
    </fieldset>
  )
}

function ThankYou() {
  return (
    <div className="grid justify-items-start gap-4">
      <h2 tabIndex={-1} className="text-base font-semibold outline-none">
        Thank you
      </h2>
      <p className="text-muted">We received your feedback.</p>
      {/* A full page load, which renders an empty form. */}
      <a href="/feedback" className={buttonStyle()}>
        Send more feedback
      </a>
    </div>
  )
}
