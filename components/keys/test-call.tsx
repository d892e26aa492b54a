"use client"

import { useState } from "react"
import { Button } from "../button"

/** Calls the API with the new key, as its owner's code will: with the header and without the session's cookie. */
export function TestCall({ path, secret }: { path: string | null; secret: string }) {
  const [answer, setAnswer] = useState<{ status: string; body: string }>()
  const [calling, setCalling] = useState(false)
  if (path === null) return <p className="text-muted">Your role may read nothing through this API yet.</p>

  async function call(url: string) {
    setCalling(true)
    setAnswer(await ask(url, secret))
    setCalling(false)
  }

  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Button onClick={() => call(path)} aria-disabled={calling}>
          Test it now
        </Button>
        <code className="font-mono text-xs text-muted">GET {path}</code>
      </div>
      <div role="status" className="grid gap-2">
        {answer && <p className="font-medium">{answer.status}</p>}
        {answer?.body && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
          <pre tabIndex={0} className="max-h-40 overflow-auto rounded-md bg-sunken p-2.5 font-mono text-xs">
            {answer.body}
          </pre>
        )}
      </div>
    </div>
  )
}

async function ask(path: string, secret: string): Promise<{ status: string; body: string }> {
  try {
    const response = await fetch(path, {
      headers: { Authorization: `Bearer ${secret}` },
      credentials: "omit",
      cache: "no-store",
    })
    const works = response.ok ? "the key works" : "the key did not work"
    return { status: `Status ${response.status}: ${works}`, body: indented(await response.text()) }
  } catch {
    return { status: "No answer: the server could not be reached", body: "" }
  }
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
