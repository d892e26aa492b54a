"use client"

import { type KeyboardEvent, type MouseEvent, type PointerEvent, type ReactNode, useRef, useState } from "react"
import { Link } from "@/components/ui/link"

/** A slider over the periods, for assistive technology: https://www.w3.org/WAI/ARIA/apg/patterns/slider/ */
export function ChartValues({
  title,
  periods,
  values,
  children,
}: {
  title: string
  periods: readonly { name: string; href?: string | undefined }[]
  values: readonly (readonly string[])[]
  /** Its periods have the same width and begin 3.5 rem from the left. */
  children: ReactNode
}) {
  const [shown, setShown] = useState<number>()
  // On a touch screen, the first tap shows the values of a period, and the second one follows its link.
  const [tapped, setTapped] = useState<number>()
  const last = periods.length - 1
  const current = shown ?? last
  const period = periods[current]
  const area = useRef<HTMLDivElement>(null)

  function point(event: PointerEvent<HTMLElement>): void {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    const index = Math.min(last, Math.max(0, Math.floor(((event.clientX - left) / width) * periods.length)))
    if (event.type === "pointerdown") setTapped(event.pointerType === "touch" && index !== shown ? index : undefined)
    setShown(index)
  }

  function press(event: KeyboardEvent<HTMLElement>): void {
    if (event.key === "Enter") area.current?.querySelector("a")?.click()
    const moves: Readonly<Record<string, number>> = {
      ArrowLeft: current - 1,
      ArrowDown: current - 1,
      ArrowRight: current + 1,
      ArrowUp: current + 1,
      Home: 0,
      End: last,
    }
    const next = moves[event.key]
    if (next === undefined) return
    event.preventDefault()
    setShown(Math.min(last, Math.max(0, next)))
  }

  function follow(event: MouseEvent): void {
    if (tapped !== undefined) event.preventDefault()
  }

  const middle = `${((current + 0.5) / periods.length) * 100}%`
  return (
    <div className="relative grid gap-1">
      {children}
      {period && (
        <div
          ref={area}
          className="absolute inset-y-0 right-0 left-14"
          onPointerMove={point}
          onPointerDown={point}
          // Lifting a finger is a leave, too.
          onPointerLeave={({ pointerType }) => pointerType !== "touch" && setShown(undefined)}
        >
          <div
            role="slider"
            tabIndex={0}
            aria-label={`${title}: values by period`}
            aria-valuemin={1}
            aria-valuemax={periods.length}
            aria-valuenow={current + 1}
            aria-valuetext={[period.name, ...(values[current] ?? [])].join(", ")}
            onFocus={() => setShown(current)}
            onBlur={() => setShown(undefined)}
            onKeyDown={press}
            className="absolute inset-0"
          />
          {shown !== undefined && (
            <>
              <div
                className="pointer-events-none absolute inset-y-0 border-x border-edge/40 bg-ink/5"
                style={{ left: `${(current / periods.length) * 100}%`, width: `${100 / periods.length}%` }}
              />
              <div
                className="pointer-events-none absolute top-0 z-10 rounded-md border border-line bg-panel px-2.5 py-1.5 text-xs whitespace-nowrap shadow-lg"
                style={{ left: middle, transform: `translate(-${middle}, -25%)` }}
              >
                <p className="text-muted">{period.name}</p>
                {values[current]?.map((text) => (
                  <p key={text}>{text}</p>
                ))}
              </div>
              {period.href && (
                <Link href={period.href} onClick={follow} tabIndex={-1} className="absolute inset-0">
                  <span className="sr-only">
                    {title}: rows of {period.name}
                  </span>
                </Link>
              )}
            </>
          )}
        </div>
      )}
    </div>
  )
}
