"use client"

import { type FormEvent, useState } from "react"
import { inCredits } from "@/lib/credits/words"
import { Button } from "../button"
import { controlStyle, describedBy, Field } from "../field"
import { type ApiResponse, callApi } from "./call"
import { ResponseText } from "./response-text"

/** A metered endpoint whose body has one field, `text`. */
export type MeteredCall = { path: string; summary: string; maxCost: number }

const example = "The quick brown fox jumps over the lazy dog. The dog does not mind."

/**
 * Makes a metered call after stating its maximum cost. The Idempotency-Key changes only with the text, so a call that is
 * repeated because its response was lost is charged once.
 */
export function RunCall({ path, summary, maxCost, secret }: MeteredCall & { secret: string }) {
  const [draft, setDraft] = useState(() => newDraft(example))
  const [called, setCalled] = useState<{ response: ApiResponse | undefined }>()
  const [calling, setCalling] = useState(false)

  async function send(event: FormEvent) {
    event.preventDefault()
    if (calling) return
    setCalling(true)
    const response = await callApi(path, secret, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Idempotency-Key": draft.idempotencyKey },
      body: JSON.stringify({ text: draft.text }),
    })
    setCalled({ response })
    setCalling(false)
  }

  return (
    <form onSubmit={send} className="grid gap-2">
      <Field
        id="run-text"
        label="Text for the run"
        hint={`${summary}. A call costs at most ${inCredits(maxCost)}; sending the same text again costs nothing.`}
      >
        <textarea
          {...describedBy("run-text", { hint: true })}
          value={draft.text}
          onChange={(event) => setDraft(newDraft(event.target.value))}
          spellCheck={false}
          className={`${controlStyle} min-h-16 py-1.5`}
        />
      </Field>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Button type="submit" aria-disabled={calling}>
          Run for up to {inCredits(maxCost)}
        </Button>
        <code className="font-mono text-xs text-muted">POST {path}</code>
      </div>
      <div role="status" className="grid gap-2">
        {called && <p className="font-medium">{outcomeOf(called.response)}</p>}
        {called?.response?.text && <ResponseText>{called.response.text}</ResponseText>}
      </div>
    </form>
  )
}

function newDraft(text: string): { text: string; idempotencyKey: string } {
  // Unlike crypto.randomUUID, getRandomValues is available over plain HTTP.
  const bytes = Array.from(crypto.getRandomValues(new Uint8Array(16)))
  return { text, idempotencyKey: bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("") }
}

function outcomeOf(response: ApiResponse | undefined): string {
  if (!response) return "No response: the server could not be reached. Try again: a run is never charged twice."
  const body = parsed(response.text)
  if (!body?.data) return `Status ${response.status}: ${body?.error?.message ?? "the call failed"}`
  const { cost, balance } = body.data
  if (response.headers.get("Idempotency-Replayed") === "true") {
    return `Stored response: nothing was charged this time. The original run cost ${inCredits(cost)}.`
  }
  return `Cost ${inCredits(cost)}. Balance: ${inCredits(balance)}.`
}

type Body = { data?: { cost: number; balance: number }; error?: { message: string } }

function parsed(text: string): Body | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
