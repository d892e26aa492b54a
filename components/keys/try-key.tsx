"use client"

import { Tabs } from "@base-ui/react/tabs"
import { Check, X } from "lucide-react"
import { useRouter } from "next/navigation"
import { type FormEvent, type ReactNode, type Ref, useEffect, useId, useRef, useState } from "react"
import { controlStyle, describedBy, Field } from "@/components/form/field"
import { Button, buttonStyle } from "@/components/ui/button"
import { CopyField } from "@/components/ui/copy-field"
import { Notice } from "@/components/ui/notice"
import { useHydrated } from "@/components/ui/use-hydrated"
import type { Counts } from "@/lib/api/result-words"
import { inCredits } from "@/lib/credits/words"
import { bodyPlaceholder, keyPlaceholder } from "@/lib/keys/choices"
import { visible } from "@/lib/platform/text/visible-text"
import { type ApiResponse, type NewKey, type NextStep, type Outcome, outcomeOf } from "./call-outcome"
import { useRequestCount } from "./live-updates"

/** `text` has placeholders for the key and the body: the server renders it without the key. */
export type Snippet = { title: string; label: string; copy: string; text: string; note?: string }

export type Call = {
  path: string
  snippets: readonly Snippet[]
  metered?: { summary: string; maxCost: number; body: Readonly<Record<string, unknown>>; counts: Counts }
  /** The body of a call that costs nothing. */
  message?: Readonly<Record<string, unknown>>
}

export type FirstCalls = {
  /** The first free one is the one that every key of the surface may make. */
  calls: readonly [Call, ...Call[]]
  /** The list whose pages show a single request; null if requests are not logged. */
  requestsPage: string | null
}

/** The steps after the key was copied. */
export function FirstCall({
  calls,
  requestsPage,
  secret,
  newKey,
  isCopied,
}: FirstCalls & { secret: string; newKey: NewKey; isCopied: boolean }) {
  const hydrated = useHydrated()
  const [draft, setDraft] = useState(() => newDraft(calls[0]))
  const { call, text, body } = draft
  const { called, calling, send, forget } = useCall(secret)
  const result = useRef<HTMLLIElement>(null)
  const outcome = called && outcomeOf(called.response, call.metered?.counts ?? {}, newKey)

  useEffect(() => {
    if (called) result.current?.scrollIntoView({ block: "nearest" })
  }, [called])

  function run(event: FormEvent) {
    event.preventDefault()
    if (call.message) send(call.path, { text: JSON.stringify(call.message) })
    else send(call.path, call.metered && { text, idempotencyKey: draft.idempotencyKey })
  }

  function choose(path: string) {
    setDraft(newDraft(calls.find((other) => other.path === path) ?? call))
    forget()
  }

  return (
    <>
      <Step number={2} title="Run your first call" state={outcome?.isGood ? "done" : undefined}>
        {!hydrated && <p className="text-muted">Run one of these in a terminal.</p>}
        {hydrated && calls.length > 1 && (
          <CallChoice calls={calls} chosen={call} disabled={calling} onChoose={choose} />
        )}
        <Code key={call.path} snippets={call.snippets} secret={secret} body={body} />
        {hydrated && (
          <form onSubmit={run} className="grid gap-3">
            {call.metered && (
              <details className="rounded-md border border-line">
                <summary className="cursor-pointer px-3 py-1.5 font-medium">Change the body</summary>
                <div className="border-t border-line p-3">
                  <BodyField
                    text={text}
                    hint={`${call.metered.summary}. A call costs at most ${inCredits(call.metered.maxCost)}; sending the same body again costs nothing.`}
                    onChange={(next) => setDraft(newDraft(call, next, body))}
                  />
                </div>
              </details>
            )}
            <Button
              type="submit"
              kind={isCopied && !outcome ? "primary" : "plain"}
              aria-disabled={calling}
              className="justify-self-start"
            >
              {call.metered ? `Run for up to ${inCredits(call.metered.maxCost)}` : "Run this call"}
            </Button>
          </form>
        )}
      </Step>
      <Step
        ref={result}
        number={3}
        title={outcome?.isGood === false ? "The call failed" : "See the result"}
        state={outcome && (outcome.isGood ? "done" : "failed")}
      >
        {hydrated && !called && <Waiting newKey={newKey} isLogged={requestsPage !== null} />}
        {!hydrated && <p className="text-muted">The response has it, and the list of keys shows the last use.</p>}
        <div role="status">{outcome && <OutcomeNotice {...outcome} />}</div>
        {outcome?.requestId && requestsPage && (
          <NewTab
            href={`${requestsPage}/${outcome.requestId}`}
            className={`${buttonStyle(isCopied && outcome.isGood ? "primary" : "plain")} justify-self-start`}
          >
            Open the request
          </NewTab>
        )}
        {called?.response?.text && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
          <pre tabIndex={0} className="max-h-40 overflow-auto rounded-md bg-sunken p-2.5 font-mono text-xs">
            {visible(indented(called.response))}
          </pre>
        )}
      </Step>
    </>
  )
}

export function Step({
  ref,
  number,
  title,
  state,
  children,
}: {
  ref?: Ref<HTMLLIElement>
  number: number
  title: string
  state?: keyof typeof marks | undefined
  children: ReactNode
}) {
  const mark = state && marks[state]
  return (
    // The margin is the height of the dialog's footer.
    <li ref={ref} className="grid scroll-mb-20 grid-cols-[1.5rem_minmax(0,1fr)] gap-x-3 gap-y-2">
      <span
        className={`grid size-6 place-items-center rounded-full border text-xs font-semibold tabular-nums ${mark?.style ?? "border-edge text-muted"}`}
      >
        {mark ? <mark.Icon aria-hidden="true" className="size-3.5" /> : number}
        {mark && (
          <span className="sr-only">
            {number}, {state}
          </span>
        )}
      </span>
      <h3 className="leading-6 font-semibold">{title}</h3>
      <div className="col-start-2 grid grid-cols-[minmax(0,1fr)] gap-3 max-sm:col-span-2 max-sm:col-start-1">
        {children}
      </div>
    </li>
  )
}

const marks = {
  done: { Icon: Check, style: "border-good bg-good/10 text-good" },
  failed: { Icon: X, style: "border-bad bg-bad/10 text-bad" },
} as const

function CallChoice({
  calls,
  chosen,
  disabled,
  onChoose,
}: {
  calls: readonly Call[]
  chosen: Call
  disabled: boolean
  onChoose: (path: string) => void
}) {
  const id = useId()
  return (
    <div className="grid gap-1.5">
      <label htmlFor={id} className="font-medium">
        Call
      </label>
      <select
        id={id}
        value={chosen.path}
        disabled={disabled}
        onChange={(event) => onChoose(event.target.value)}
        className={`${controlStyle} font-mono`}
      >
        {calls.map((call) => (
          <option key={call.path} value={call.path}>
            {`${call.metered || call.message ? "POST" : "GET"} ${call.path}${call.metered ? "" : ", free"}`}
          </option>
        ))}
      </select>
    </div>
  )
}

type Shown = { secret: string; body: Draft["body"] }

function Code({ snippets, ...shown }: Shown & { snippets: readonly Snippet[] }) {
  const hydrated = useHydrated()
  if (!hydrated)
    return snippets.map((snippet) => (
      <SnippetField key={snippet.title} snippet={snippet} label={snippet.title} {...shown} />
    ))
  return (
    <Tabs.Root defaultValue={snippets[0]?.title} className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <Tabs.List aria-label="Example requests" className="flex flex-wrap gap-1 border-b border-line">
        {snippets.map(({ title }) => (
          <Tabs.Tab
            key={title}
            value={title}
            className="-mb-px h-8 whitespace-nowrap border-b-2 border-transparent px-2.5 font-medium text-muted hover:text-ink aria-selected:border-accent aria-selected:text-ink"
          >
            {title}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map((snippet) => (
        // A panel that was left stays for a frame, below the new one.
        <Tabs.Panel key={snippet.title} value={snippet.title} tabIndex={-1} className="inert:hidden">
          <SnippetField snippet={snippet} label={snippet.label} {...shown} />
        </Tabs.Panel>
      ))}
    </Tabs.Root>
  )
}

function SnippetField({
  snippet: { title, copy, text, note },
  label,
  secret,
  body,
}: Shown & { snippet: Snippet; label: string }) {
  // A single quote would end the argument of curl.
  const json = JSON.stringify(body).replaceAll("'", "\\u0027")
  const value = text.replaceAll(keyPlaceholder, secret).replaceAll(JSON.stringify(bodyPlaceholder), () => json)
  const lines = Math.min(12, Math.max(3, value.split("\n").length + 1))
  return (
    <div className="grid gap-1.5">
      <CopyField id={`snippet-${title.replaceAll(" ", "-")}`} label={label} value={value} copy={copy} lines={lines} />
      {note && <p className="text-muted">{note}</p>}
    </div>
  )
}

function BodyField({ text, hint, onChange }: { text: string; hint: string; onChange: (text: string) => void }) {
  const id = useId()
  return (
    <Field id={id} label="JSON body" hint={hint}>
      <textarea
        {...describedBy(id, { hint: true })}
        value={text}
        onChange={(event) => onChange(event.target.value)}
        spellCheck={false}
        className={`${controlStyle} min-h-32 py-1.5 font-mono`}
      />
    </Field>
  )
}

function Waiting({ newKey: { id, page }, isLogged }: { newKey: NewKey; isLogged: boolean }) {
  const router = useRouter()
  const [requests, setRequests] = useState(0)
  useRequestCount(isLogged ? `${page}/${id}/count` : null, (found) => {
    if (found <= requests) return
    setRequests(found)
    // The list shows the last use.
    router.refresh()
  })
  return (
    <p role="status" className="text-muted">
      {requests === 0 ? (
        `Run the call here or in a terminal${isLogged ? ": a request with this key is noticed within seconds" : ""}.`
      ) : (
        <>
          {requests === 1 ? "The first request has" : `${requests} requests have`} arrived.{" "}
          <NewTab href={`${page}/${id}`} className="text-accent underline">
            Open the key
          </NewTab>
        </>
      )}
    </p>
  )
}

function OutcomeNotice({ isGood, words, next }: Outcome) {
  return (
    <Notice tone={isGood ? "good" : "bad"}>
      <p className={isGood ? "font-semibold" : ""}>{words}</p>
      {next && <NextAction {...next} />}
    </Notice>
  )
}

function NextAction({ label, href }: NextStep) {
  return (
    <p className="mt-1 font-semibold">
      {href ? (
        <NewTab href={href} className="underline">
          {label}
        </NewTab>
      ) : (
        label
      )}
    </p>
  )
}

/** Because leaving this tab loses the key. */
function NewTab({ href, className, children }: { href: string; className: string; children: ReactNode }) {
  return (
    <a href={href} target="_blank" rel="noreferrer" className={className}>
      {children}
    </a>
  )
}

type Draft = {
  call: Call
  text: string
  /** The last text that was a JSON object, for the code. */
  body: Readonly<Record<string, unknown>>
  idempotencyKey: string
}

/** The Idempotency-Key changes only with the text, so that a call repeated after a lost response is charged once. */
function newDraft(call: Call, text?: string, last: Draft["body"] = call.metered?.body ?? {}): Draft {
  // Unlike crypto.randomUUID, getRandomValues is available over plain HTTP.
  const bytes = Array.from(crypto.getRandomValues(new Uint8Array(16)))
  return {
    call,
    text: text ?? JSON.stringify(last, null, 2),
    body: text === undefined ? last : (objectIn(text) ?? last),
    idempotencyKey: bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(""),
  }
}

function objectIn(text: string): Draft["body"] | undefined {
  const value = parsed(text)
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Draft["body"]) : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function indented({ text }: ApiResponse): string {
  const body = parsed(text)
  return body === undefined ? text : JSON.stringify(body, null, 2)
}

/** `response` is undefined after a lost connection. */
type Called = { response: ApiResponse | undefined }

type Body = { text: string; idempotencyKey?: string }

function useCall(secret: string) {
  const router = useRouter()
  const [called, setCalled] = useState<Called>()
  const [calling, setCalling] = useState(false)

  async function send(path: string, body: Body | undefined) {
    if (calling) return
    setCalling(true)
    const response = await callApi(path, secret, body)
    setCalled({ response })
    setCalling(false)
    // The list beside it shows the last use. Without a connection, the page would be left, and the key lost.
    if (response) router.refresh()
  }

  return { called, calling, send, forget: () => setCalled(undefined) }
}

/** As the owner's code calls the API: with the Authorization header and without the session cookie. */
async function callApi(path: string, secret: string, body: Body | undefined): Promise<ApiResponse | undefined> {
  const sent = body && {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      ...(body.idempotencyKey && { "Idempotency-Key": body.idempotencyKey }),
    },
    body: body.text,
  }
  try {
    const response = await fetch(path, {
      ...sent,
      headers: { ...sent?.headers, Authorization: `Bearer ${secret}` },
      credentials: "omit",
      cache: "no-store",
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  } catch {
    return undefined
  }
}
