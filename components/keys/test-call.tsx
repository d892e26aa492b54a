"use client"

import { useState } from "react"
import { Button } from "../button"
import { AnswerText } from "./answer-text"
import { type Answer, callApi } from "./call"

/** Tries a new key on a request that changes nothing. */
export function TestCall({ path, secret }: { path: string | null; secret: string }) {
  const [called, setCalled] = useState<{ answer: Answer | undefined }>()
  const [calling, setCalling] = useState(false)
  if (path === null) return <p className="text-muted">Your role may read nothing through this API yet.</p>

  async function call(url: string) {
    setCalling(true)
    setCalled({ answer: await callApi(url, secret) })
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
        {called && <p className="font-medium">{verdictOn(called.answer)}</p>}
        {called?.answer?.text && <AnswerText>{called.answer.text}</AnswerText>}
      </div>
    </div>
  )
}

function verdictOn(answer: Answer | undefined): string {
  if (!answer) return "No answer: the server could not be reached"
  return `Status ${answer.status}: ${answer.status === 200 ? "the key works" : "the key did not work"}`
}
