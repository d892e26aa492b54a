"use client"

import { SubmitButton } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import type { ButtonKind } from "@/components/ui/button"
import { buyPack, leave, openPortal } from "./actions"

export function PackForm({
  credits,
  currency,
  label,
  text,
  kind = "plain",
}: {
  credits: number
  currency: string
  label: string
  text: string
  kind?: ButtonKind
}) {
  return (
    <Form action={buyPack}>
      <input type="hidden" name="pack" value={credits} />
      <input type="hidden" name="currency" value={currency} />
      <SubmitButton kind={kind} aria-label={label} className="justify-self-start">
        {text}
      </SubmitButton>
    </Form>
  )
}

export function PortalForm() {
  return (
    <Form action={openPortal}>
      <SubmitButton kind="plain">Invoices, receipts and cards</SubmitButton>
    </Form>
  )
}

export function LeaveForm() {
  return (
    <Form action={leave}>
      <SubmitButton kind="plain">Close the checkout</SubmitButton>
    </Form>
  )
}
