"use client"

import { useEffect, useRef } from "react"
import { controlStyle, describedBy, Field } from "@/components/form/field"
import { Form } from "@/components/form/form"
import { useToasts } from "@/components/overlay/toast"
import { Button } from "@/components/ui/button"
import { Notice } from "@/components/ui/notice"
import { maxPixels } from "@/lib/pictures/limits"
import type { Outcome } from "@/lib/pictures/upload"
import { maxPictureBytes, uploadPath } from "@/lib/platform/http/body-limits"
import { removePicture } from "./actions"

const maxSize = `${maxPictureBytes / 1024 ** 2} MB`
const accepted = `PNG, JPEG or WebP, at most ${maxSize}`

const errors: Record<Exclude<Outcome, "saved">, string> = {
  no_file: `Choose a picture: ${accepted}.`,
  too_large: `This file is too large. Choose a picture of at most ${maxSize}.`,
  wrong_type: "This file is not a picture that can be used here. Choose a PNG, JPEG or WebP.",
  unreadable: `This picture cannot be read. It is damaged or has more than ${maxPixels / 1e6} million pixels. Choose another one.`,
  too_many: "You changed your picture too often. Try again in an hour.",
  busy: "Too many pictures are being uploaded right now. Try again in a moment.",
}

export function PictureForm({ hasPicture, outcome }: { hasPicture: boolean; outcome: Outcome | undefined }) {
  const toasts = useToasts()
  const input = useRef<HTMLInputElement>(null)
  const error = outcome && outcome !== "saved" ? errors[outcome] : undefined
  useEffect(() => {
    if (error) input.current?.focus()
  }, [error])

  function checkSize({ currentTarget }: { currentTarget: HTMLInputElement }): void {
    const isTooLarge = (currentTarget.files?.[0]?.size ?? 0) > maxPictureBytes
    currentTarget.setCustomValidity(isTooLarge ? errors.too_large : "")
  }

  return (
    <div className="grid justify-items-start gap-3">
      {outcome === "saved" && hasPicture && (
        <Notice tone="good" role="status">
          Your picture was saved
        </Notice>
      )}
      <form action={uploadPath} method="post" encType="multipart/form-data" className="grid w-full gap-4">
        <Field id="picture" label="Picture" hint={`${accepted}. It is cropped to a square.`} error={error}>
          <input
            {...describedBy("picture", { hint: true, error })}
            ref={input}
            type="file"
            name="picture"
            accept="image/png,image/jpeg,image/webp"
            required
            onChange={checkSize}
            className={`${controlStyle} h-auto! py-1.5`}
          />
        </Field>
        <Button kind="primary" type="submit" className="justify-self-start">
          Save picture
        </Button>
      </form>
      {hasPicture && (
        <Form
          action={removePicture}
          onDone={() => {
            toasts.show("Your picture was removed")
            toasts.region.current?.focus()
          }}
        >
          <Button type="submit">Remove picture</Button>
        </Form>
      )}
    </div>
  )
}
