"use client"

import { useRouter } from "next/navigation"
import { type FormEvent, useId, useState } from "react"
import { Button } from "@/components/button"
import { controlStyle, describedBy, Field } from "@/components/field"
import { Notice } from "@/components/notice"
import { inCredits } from "@/lib/credits/words"
import { type ApiResponse, bodyOf, callApi } from "./call"
import { ResponseText } from "./response-text"

/** A metered endpoint with the example of its body, as indented JSON. */
export type MeteredCall = { path: string; summary: string; maxCost: number; body: string }

/** Makes metered calls after stating their maximum cost. */
export function RunCalls({ runs, secret }: { runs: readonly MeteredCall[]; secret: string }) {
  return runs.map((run) => (
    <details key={run.path} open={runs.length === 1}>
      <summary className="cursor-pointer pb-2 font-mono text-xs text-muted hover:text-ink">POST {run.path}</summary>
      <RunCall {...run} secret={secret} />
    </details>
  ))
}

/**
 * Sends the body as it is in the text field. The Idempotency-Key changes only with the text, so a call that is repeated
 * because its response was lost is charged once.
 */
function RunCall({ path, summary, maxCost, body, secret }: MeteredCall & { secret: string }) {
  const id = useId()
  const router = useRouter()
  const [draft, setDraft] = useState(() => newDraft(body))
  const [called, setCalled] = useState<{ response: ApiResponse | undefined }>()
  const [calling, setCalling] = useState(false)

  async function send(event: FormEvent) {
    event.preventDefault()
    if (calling) return
    setCalling(true)
    const response = await callApi(path, secret, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Idempotency-Key": draft.idempotencyKey },
      body: draft.body,
    })
    setCalled({ response })
    setCalling(false)
    // The list beside it shows the last use.
    router.refresh()
  }

  return (
    <form onSubmit={send} className="grid gap-2">
      <Field
        id={id}
        label="JSON body"
        hint={`${summary}. A call costs at most ${inCredits(maxCost)}; sending the same body again costs nothing.`}
      >
        <textarea
          {...describedBy(id, { hint: true })}
          value={draft.body}
          onChange={(event) => setDraft(newDraft(event.target.value))}
          spellCheck={false}
          className={`${controlStyle} min-h-32 py-1.5 font-mono`}
        />
      </Field>
      <div>
        <Button type="submit" aria-disabled={calling}>
          Run for up to {inCredits(maxCost)}
        </Button>
      </div>
      <div role="status">
        {called && (
          <Notice tone={called.response?.status === 200 ? "good" : "bad"}>{outcomeOf(called.response)}</Notice>
        )}
      </div>
      {called?.response?.text && <ResponseText>{called.response.text}</ResponseText>}
    </form>
  )
}

function newDraft(body: string): { body: string; idempotencyKey: string } {
  // Unlike crypto.randomUUID, getRandomValues is available over plain HTTP.
  const bytes = Array.from(crypto.getRandomValues(new Uint8Array(16)))
  return { body, idempotencyKey: bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("") }
}

function outcomeOf(response: ApiResponse | undefined): string {
  if (!response) return "No response: the server could not be reached. Try again: a run is never charged twice."
  const body = bodyOf(response)
  if (!body?.data) return `Status ${response.status}: ${body?.error?.message ?? "the call failed"}`
  const { cost, balance } = body.data
  if (response.headers.get("Idempotency-Replayed") === "true") {
    return `Stored response: nothing was charged this time. The original run cost ${inCredits(cost)}.`
  }
  return `Cost ${inCredits(cost)}. Balance: ${inCredits(balance)}.`
}
