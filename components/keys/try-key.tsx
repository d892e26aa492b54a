"use client"

import { useRouter } from "next/navigation"
import { type FormEvent, useId, useState } from "react"
import { controlStyle, describedBy, Field } from "@/components/form/field"
import { Button } from "@/components/ui/button"
import { Notice } from "@/components/ui/notice"
import { inCredits } from "@/lib/credits/words"
import { visible } from "@/lib/platform/text/visible-text"

export function TestCall({ path, secret }: { path: string; secret: string }) {
  const { called, calling, call } = useCall(path, secret)
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Button onClick={() => call()} aria-disabled={calling}>
          Test it now
        </Button>
        <code className="font-mono text-xs text-muted">GET {path}</code>
      </div>
      <CallResult called={called} inWords={testInWords} />
    </div>
  )
}

function testInWords(response: ApiResponse | undefined): string {
  if (!response) return "No response: the server could not be reached"
  if (response.status === 200) return "Status 200: the key works"
  return `Status ${response.status}: ${bodyOf(response)?.error?.message ?? "the request failed"}`
}

export type MeteredCall = { path: string; summary: string; maxCost: number; body: string }

export function RunCalls({ runs, secret }: { runs: readonly MeteredCall[]; secret: string }) {
  return runs.map((run) => (
    <details key={run.path} open={runs.length === 1}>
      <summary className="cursor-pointer pb-2 font-mono text-xs text-muted hover:text-ink">POST {run.path}</summary>
      <RunCall {...run} secret={secret} />
    </details>
  ))
}

/** The Idempotency-Key changes only with the text, so that a call repeated after a lost response is charged once. */
function RunCall({ path, summary, maxCost, body, secret }: MeteredCall & { secret: string }) {
  const id = useId()
  const [draft, setDraft] = useState(() => newDraft(body))
  const { called, calling, call } = useCall(path, secret)

  function send(event: FormEvent) {
    event.preventDefault()
    call({
      method: "POST",
      headers: { "Content-Type": "application/json", "Idempotency-Key": draft.idempotencyKey },
      body: draft.body,
    })
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
      <CallResult called={called} inWords={runInWords} />
    </form>
  )
}

function newDraft(body: string): { body: string; idempotencyKey: string } {
  // Unlike crypto.randomUUID, getRandomValues is available over plain HTTP.
  const bytes = Array.from(crypto.getRandomValues(new Uint8Array(16)))
  return { body, idempotencyKey: bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("") }
}

function runInWords(response: ApiResponse | undefined): string {
  if (!response) return "No response: the server could not be reached. Try again: a run is never charged twice."
  const body = bodyOf(response)
  if (!body?.data) return `Status ${response.status}: ${body?.error?.message ?? "the call failed"}`
  const { cost, balance } = body.data
  if (response.headers.get("Idempotency-Replayed") === "true") {
    return `Stored response: nothing was charged this time. The original run cost ${inCredits(cost)}.`
  }
  return `Cost ${inCredits(cost)}. Balance: ${inCredits(balance)}.`
}

type ApiResponse = { status: number; headers: Headers; text: string }

type Called = { response: ApiResponse | undefined }

function useCall(path: string, secret: string) {
  const router = useRouter()
  const [called, setCalled] = useState<Called>()
  const [calling, setCalling] = useState(false)

  async function call(init: RequestInit = {}) {
    if (calling) return
    setCalling(true)
    setCalled({ response: await callApi(path, secret, init) })
    setCalling(false)
    // The list beside it shows the last use.
    router.refresh()
  }

  return { called, calling, call }
}

/** As the owner's code calls the API: with the Authorization header and without the session cookie. */
async function callApi(path: string, secret: string, init: RequestInit): Promise<ApiResponse | undefined> {
  try {
    const response = await fetch(path, {
      ...init,
      headers: { ...init.headers, Authorization: `Bearer ${secret}` },
      credentials: "omit",
      cache: "no-store",
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  } catch {
    return undefined
  }
}

function CallResult({
  called,
  inWords,
}: {
  called: Called | undefined
  inWords: (response: ApiResponse | undefined) => string
}) {
  return (
    <>
      <div role="status">
        {called && <Notice tone={called.response?.status === 200 ? "good" : "bad"}>{inWords(called.response)}</Notice>}
      </div>
      {called?.response?.text && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
        <pre tabIndex={0} className="max-h-40 overflow-auto rounded-md bg-sunken p-2.5 font-mono text-xs">
          {visible(indented(called.response))}
        </pre>
      )}
    </>
  )
}

type Body = { data?: { cost: number; balance: number }; error?: { message: string } }

function bodyOf({ text }: ApiResponse): Body | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function indented(response: ApiResponse): string {
  const body = bodyOf(response)
  return body === undefined ? response.text : JSON.stringify(body, null, 2)
}
