"use client"

import { useActionState, useEffect, useRef } from "react"
import { Button } from "@/components/button"
import { TextField } from "@/components/field"
import { Notice } from "@/components/notice"
import { signIn } from "./actions"

export function SignInForm({ callbackUrl }: { callbackUrl: string }) {
  const [response, action, pending] = useActionState(signIn, null)
  const password = useRef<HTMLInputElement>(null)

  useEffect(() => {
    if (response) password.current?.focus()
  }, [response])

  return (
    <form action={action} className="grid gap-4">
      <input type="hidden" name="callbackUrl" value={callbackUrl} />
      {response && (
        <Notice tone="bad" role="alert">
          {response.message}
        </Notice>
      )}
      <TextField
        id="email"
        label="Email"
        name="email"
        type="email"
        autoComplete="username"
        required
        defaultValue={response?.email}
      />
      <TextField
        id="password"
        label="Password"
        name="password"
        type="password"
        autoComplete="current-password"
        required
        ref={password}
      />
      <Button kind="primary" type="submit" aria-disabled={pending}>
        Sign in
      </Button>
    </form>
  )
}
