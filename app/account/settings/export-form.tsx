"use client"

import { type ReactNode, useState } from "react"
import { Done } from "@/components/form/done"
import { SubmitButton } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { buttonStyle } from "@/components/ui/button"
import { Notice } from "@/components/ui/notice"
import { prepareExport } from "./actions"
import { type Outcome, outcomes } from "./export/outcomes"

export function ExportForm({ outcome }: { outcome: Outcome | undefined }) {
  return (
    <PreparationForm submit="Export data">
      {outcome && (
        <Notice tone="bad" role="alert">
          {outcomes[outcome]}
        </Notice>
      )}
      <p className="text-muted">
        It contains no keys and no passwords; README.txt in it names everything else that is left out.
      </p>
    </PreparationForm>
  )
}

function PreparationForm({ submit, children }: { submit: string; children: ReactNode }) {
  return (
    <Form action={prepareExport} done={(token) => <Download token={token} />}>
      {children}
      <SubmitButton kind="plain" className="justify-self-start">
        {submit}
      </SubmitButton>
    </Form>
  )
}

function Download({ token }: { token: string }) {
  const [isUsed, setUsed] = useState(false)
  return (
    <>
      {/* Hidden, not removed: the browser submits only what is on the page. */}
      <div hidden={isUsed}>
        <Done title="Your export is ready">
          <p className="text-muted">It can be downloaded once, in this browser, within five minutes.</p>
          <form action="/account/settings/export" method="post" onSubmit={() => setUsed(true)}>
            <input type="hidden" name="token" value={token} />
            <button type="submit" className={buttonStyle("primary")}>
              Download ZIP
            </button>
          </form>
        </Done>
      </div>
      {isUsed && (
        <div ref={focus} tabIndex={-1} className="outline-none">
          <PreparationForm submit="Export again">
            <h3 className="font-semibold">Your download has started</h3>
            <p className="text-muted">
              This export can be downloaded only once. Export again if you need another file.
            </p>
          </PreparationForm>
        </div>
      )}
    </>
  )
}

function focus(area: HTMLElement | null): void {
  area?.focus()
}
