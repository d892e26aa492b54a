"use client"

import { LogOut } from "lucide-react"
import { Button } from "@/components/ui/button"
import { forget } from "./browser-storage"

export function SignOutButton() {
  return (
    <Button id="sign-out" type="submit" onClick={forget} className="w-full">
      <LogOut aria-hidden="true" className="size-4" />
      Sign out
    </Button>
  )
}
