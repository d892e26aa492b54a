"use client"

import type { ComponentProps } from "react"
import { forget } from "./browser-storage"

export function SignOutButton(props: ComponentProps<"button">) {
  return <button {...props} type="submit" onClick={forget} />
}
