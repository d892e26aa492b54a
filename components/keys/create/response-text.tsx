import { visible } from "@/lib/platform/text/visible-text"

/** The body of a response, indented if it is JSON. */
export function ResponseText({ children }: { children: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
    <pre tabIndex={0} className="max-h-40 overflow-auto rounded-md bg-sunken p-2.5 font-mono text-xs">
      {visible(indented(children))}
    </pre>
  )
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
