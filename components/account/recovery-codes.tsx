"use client"

import { Download } from "lucide-react"
import { useEffect, useRef } from "react"
import { useLeaveGuard } from "@/components/overlay/use-leave-guard"
import { Button } from "@/components/ui/button"
import { CopyField } from "@/components/ui/copy-field"
import { product } from "@/lib/product"

/** No other component shows recovery codes. They exist only in `codes`, and are gone when the page is left. */
export function RecoveryCodes({ title, codes, page }: { title: string; codes: readonly string[]; page: string }) {
  const container = useRef<HTMLDivElement>(null)
  const release = useLeaveGuard(container, () => location.replace(page), "The codes are")

  useEffect(() => container.current?.querySelector<HTMLElement>("#recovery-codes")?.focus(), [])

  return (
    <div ref={container} className="grid gap-4">
      <div className="grid gap-1">
        <h2 className="text-base font-semibold">{title}</h2>
        <p className="text-muted">
          Save your recovery codes now: you won’t see them again. Each signs you in once, without your passkey or app.
          Keep them where you find them without this device, such as in a password manager.
        </p>
      </div>
      <CopyField
        id="recovery-codes"
        label="Recovery codes"
        value={codes.join("\n")}
        copy="Copy codes"
        kind="primary"
        lines={codes.length}
      >
        <Button onClick={() => download(codes)}>
          <Download aria-hidden="true" className="size-4" />
          Download codes
        </Button>
      </CopyField>
      <form action={page} method="get" onSubmit={release} className="flex justify-end">
        <Button type="submit">I have saved these codes</Button>
      </form>
    </div>
  )
}

/** Not a link to `data:`, which would put the codes into the browser's list of downloads. */
function download(codes: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([`${codes.join("\n")}\n`], { type: "text/plain" }))
  Object.assign(document.createElement("a"), { href: url, download: `${product.slug}-recovery-codes.txt` }).click()
  URL.revokeObjectURL(url)
}
