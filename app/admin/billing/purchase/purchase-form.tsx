"use client"

import { MessageText } from "@/components/confirm/message-text"
import { SelectField, SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { Notice } from "@/components/ui/notice"
import { record } from "../actions"
import { ReasonField } from "../confirmations"

type Choices = Readonly<Record<string, string>>

export function PurchaseForm({ account, items, currencies }: { account: string; items: Choices; currencies: Choices }) {
  return (
    <Form
      action={record}
      ifLost="A purchase is never recorded twice."
      done={(message) => (
        <Notice tone="good" role="status" tabIndex={-1}>
          <MessageText message={message} />
        </Notice>
      )}
    >
      <TextField
        label="Account"
        name="account"
        defaultValue={account}
        hint="Its email address or its ID."
        autoComplete="off"
        required
      />
      <TextField
        label="Invoice number"
        name="invoice"
        hint="The customer sees it. A number can be used once."
        autoComplete="off"
        maxLength={64}
        required
      />
      <SelectField label="Plan or pack" name="item" options={items} required />
      <div className="grid grid-cols-2 items-start gap-4">
        <TextField label="Amount paid" name="amount" inputMode="decimal" autoComplete="off" required />
        <SelectField label="Currency" name="currency" options={currencies} required />
      </div>
      <ReasonField />
      <SubmitButton className="justify-self-start">Record purchase</SubmitButton>
    </Form>
  )
}
