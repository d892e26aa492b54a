"use client"

import { Button } from "@/components/ui/button"
import { useHydrated } from "@/components/ui/use-hydrated"

export function PrintButton() {
  return useHydrated() && <Button onClick={() => window.print()}>Print</Button>
}
