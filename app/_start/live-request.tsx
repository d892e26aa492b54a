"use client"

import { type ReactNode, useState } from "react"
import { Button } from "@/components/ui/button"
import { useHydrated } from "@/components/ui/use-hydrated"

type Received = { path: string; status: number; ms: number; text: string }

type LiveRequest = { label: string; path: string }

export function LiveRequest({ requests, children }: { requests: readonly LiveRequest[]; children: ReactNode }) {
  const [received, setReceived] = useState<Received | "lost">()
  const hydrated = useHydrated()

  async function send(path: string) {
    const start = performance.now()
    try {
      const response = await fetch(path, { headers: { Accept: "application/json" } })
      const text = JSON.stringify(await response.json(), null, 2)
      setReceived({ path, status: response.status, ms: Math.round(performance.now() - start), text })
    } catch {
      setReceived("lost")
    }
  }

  if (!hydrated) return null
  return (
    <div className="grid justify-items-start gap-3">
      <p className="max-w-2xl text-muted">{children}</p>
      <div className="flex flex-wrap gap-2">
        {requests.map(({ label, path }) => (
          <Button key={path} onClick={() => send(path)}>
            {label}
          </Button>
        ))}
      </div>
      <p role="status" className={received === "lost" ? "text-bad" : "text-muted"}>
        {received === "lost"
          ? "There was no response. Check your connection and try again."
          : received && `GET ${received.path} responded ${received.status} in ${received.ms} ms`}
      </p>
      {received && received !== "lost" && (
        <pre className="w-full rounded-lg border border-line bg-panel px-3 py-2.5 font-mono text-xs leading-5 wrap-anywhere whitespace-pre-wrap">
          {received.text}
        </pre>
      )}
    </div>
  )
}
