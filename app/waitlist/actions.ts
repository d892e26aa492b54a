"use server"

import { headers } from "next/headers"
import { z } from "zod"
import { textFields } from "@/lib/form/text-fields"
import { inMinutes } from "@/lib/format-time"
import { clientAddress } from "@/lib/rate-limit/client-address"
import { isSameOrigin } from "@/lib/sign-in/origin"
import { joinWaitlist, type WaitlistResult, waitlistForm } from "@/lib/waitlist/waitlist"

type Values = { email: string; note: string }

export type WaitlistState =
  | { ok: true }
  | { ok: false; reason: "refused"; message: string; values: Values }
  | { ok: false; reason: "invalid"; errors: { [Field in keyof Values]?: string | undefined }; values: Values }

export async function join(_last: WaitlistState | null, data: FormData): Promise<WaitlistState> {
  const { source, ...values } = textFields(data, "email", "note", "source")
  if (!(await isSameOrigin())) {
    return {
      ok: false,
      reason: "refused",
      message: "This form was not sent from this site. Reload the page and try again.",
      values,
    }
  }
  const form = waitlistForm.safeParse({ ...values, source })
  if (!form.success) {
    const { fieldErrors } = z.flattenError(form.error)
    return {
      ok: false,
      reason: "invalid",
      errors: { email: fieldErrors.email?.[0], note: fieldErrors.note?.[0] },
      values,
    }
  }
  const result = await joinWaitlist(form.data, clientAddress(await headers()))
  return result.ok ? { ok: true } : { ok: false, reason: "refused", message: messageOf(result), values }
}

function messageOf(result: Extract<WaitlistResult, { ok: false }>): string {
  if (result.reason === "unavailable") return "The waitlist is unavailable right now. Try again in a moment."
  return `Too many requests from your network. Try again ${inMinutes(result.retryAfterSeconds)}.`
}
