"use client"

import { useRouter } from "next/navigation"
import { useState } from "react"
import { Button } from "@/components/button"
import { Notice } from "@/components/notice"
import { type ApiResponse, bodyOf, callApi } from "./call"
import { ResponseText } from "./response-text"

/** Tests a new key with a read-only request. */
export function TestCall({ path, secret }: { path: string; secret: string }) {
  const [called, setCalled] = useState<{ response: ApiResponse | undefined }>()
  const [calling, setCalling] = useState(false)
  const router = useRouter()

  async function call() {
    setCalling(true)
    setCalled({ response: await callApi(path, secret) })
    setCalling(false)
    // The list beside it shows the last use.
    router.refresh()
  }

  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Button onClick={call} aria-disabled={calling}>
          Test it now
        </Button>
        <code className="font-mono text-xs text-muted">GET {path}</code>
      </div>
      <div role="status">
        {called && (
          <Notice tone={called.response?.status === 200 ? "good" : "bad"}>{outcomeOf(called.response)}</Notice>
        )}
      </div>
      {called?.response?.text && <ResponseText>{called.response.text}</ResponseText>}
    </div>
  )
}

function outcomeOf(response: ApiResponse | undefined): string {
  if (!response) return "No response: the server could not be reached"
  if (response.status === 200) return "Status 200: the key works"
  return `Status ${response.status}: ${bodyOf(response)?.error?.message ?? "the request failed"}`
}
