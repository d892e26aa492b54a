"use client"

import { Button } from "./button"
import { useHydrated } from "./use-hydrated"

export function PrintButton() {
  return useHydrated() && <Button onClick={() => window.print()}>Print</Button>
}
