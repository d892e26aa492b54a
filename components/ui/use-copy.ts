import { useState } from "react"

export function useCopy(select: () => void) {
  const [feedback, setFeedback] = useState<"" | "copied" | "selected">("")

  async function copy(text: string): Promise<boolean> {
    setFeedback("")
    try {
      await navigator.clipboard.writeText(text)
      setFeedback("copied")
      return true
    } catch {
      select()
      setFeedback("selected")
      return false
    }
  }

  return { feedback, copy }
}

export const shortFeedback = { "": "", copied: "Copied", selected: "Selected: press Ctrl+C or ⌘C" } as const
