"use client"

import { Button } from "@/components/button"
import { useHydrated } from "@/components/use-hydrated"

export function PrintButton() {
  return useHydrated() && <Button onClick={() => window.print()}>Print</Button>
}
