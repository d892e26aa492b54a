"use client"

import { useRouter } from "next/navigation"
import { useEffect, useRef, useState } from "react"
import { Button } from "@/components/ui/button"
import { useHydrated } from "@/components/ui/use-hydrated"

const everyMs = 5_000

/** Stops after ten minutes unattended, because every poll extends the viewer's session. */
const maxQuestions = 120

export function LiveUpdates({ path, requests }: { path: string; requests: number }) {
  const router = useRouter()
  const hydrated = useHydrated()
  const [isPaused, setPaused] = useState(false)
  const [news, setNews] = useState(0)
  const known = useRef(requests)

  useEffect(() => {
    if (requests > known.current) setNews(requests - known.current)
    known.current = requests
  }, [requests])

  useRequestCount(
    isPaused ? null : path,
    (found) => found > known.current && router.refresh(),
    () => setPaused(true),
  )

  if (!hydrated) return null
  return (
    <div className="flex flex-wrap items-center gap-x-3 text-muted">
      <p>{isPaused ? "Updates are paused." : "New requests appear here."}</p>
      <Button kind="quiet" onClick={() => setPaused(!isPaused)}>
        {isPaused ? "Resume" : "Pause"}
      </Button>
      {/* Last, because it is empty at first. */}
      <p role="status">{news > 0 && `${news} new ${news === 1 ? "request" : "requests"}`}</p>
    </div>
  )
}

/** Polls only the number of requests, so that an open page costs little. A lost connection changes nothing. */
export function useRequestCount(path: string | null, onCount: (requests: number) => void, onEnd?: () => void): void {
  const latest = useRef({ onCount, onEnd })
  latest.current = { onCount, onEnd }

  useEffect(() => {
    if (path === null) return undefined
    let questions = 0
    const timer = setInterval(async () => {
      if (document.hidden) return
      questions++
      if (questions > maxQuestions) {
        clearInterval(timer)
        return latest.current.onEnd?.()
      }
      const found = await countOf(path)
      if (found !== undefined) latest.current.onCount(found)
    }, everyMs)
    return () => clearInterval(timer)
  }, [path])
}

async function countOf(path: string): Promise<number | undefined> {
  try {
    const response = await fetch(path, { redirect: "error", signal: AbortSignal.timeout(everyMs) })
    return response.ok ? (await response.json()).requests : undefined
  } catch {
    return undefined
  }
}
