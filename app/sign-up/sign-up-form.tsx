"use client"

import { useActionState, useEffect, useRef } from "react"
import { Button } from "@/components/button"
import { TextField } from "@/components/field"
import { Notice } from "@/components/notice"
import { createAccount } from "./actions"

export function SignUpForm({ callbackUrl, passwordMinLength }: { callbackUrl: string; passwordMinLength: number }) {
  const [response, action, pending] = useActionState(createAccount, null)
  const form = useRef<HTMLFormElement>(null)
  const errors = response?.errors ?? {}

  useEffect(() => {
    if (response) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus()
  }, [response])

  return (
    <form action={action} ref={form} className="grid gap-4">
      <input type="hidden" name="callbackUrl" value={callbackUrl} />
      {response?.message && (
        <Notice tone="bad" role="alert">
          {response.message}
        </Notice>
      )}
      <TextField
        id="name"
        label="Name"
        name="name"
        autoComplete="name"
        required
        maxLength={100}
        defaultValue={response?.name}
        error={errors.name}
      />
      <TextField
        id="email"
        label="Email"
        name="email"
        type="email"
        autoComplete="username"
        required
        defaultValue={response?.email}
        error={errors.email}
      />
      <TextField
        id="password"
        label="Password"
        name="password"
        type="password"
        autoComplete="new-password"
        required
        hint={`At least ${passwordMinLength} characters. A few words you can remember are fine.`}
        error={errors.password}
      />
      <Button kind="primary" type="submit" aria-disabled={pending}>
        Create account
      </Button>
    </form>
  )
}
