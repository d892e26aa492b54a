"use client"

import { FieldGroup } from "@/components/form/field"
import { useFormField } from "@/components/form/fields"
import { product } from "@/lib/product"

const ratings = { 1: "Bad", 2: "Poor", 3: "Fair", 4: "Good", 5: "Great" } as const

export function RatingField() {
  const { id, error, value } = useFormField("rating")
  return (
    <FieldGroup id={id} legend={`How would you rate ${product.name}?`} error={error}>
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
    </FieldGroup>
  )
}
