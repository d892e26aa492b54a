"use client"

import { buttonStyle } from "@/components/button"
import { Done } from "@/components/form/done"
import { SubmitButton } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { Notice } from "@/components/notice"
import { Panel } from "@/components/page-frame"
import { prepareExport } from "./actions"
import { type Outcome, outcomes } from "./export/outcomes"

/** `outcome`: of the last download, if there was none. */
export function ExportPanel({ outcome }: { outcome: Outcome | undefined }) {
  return (
    <Panel label="Export">
      <Form action={prepareExport} done={(token) => <Download token={token} />}>
        <h2 id="export" className="text-base font-semibold">
          Export your data
        </h2>
        {outcome && (
          <Notice tone="bad" role="alert">
            {outcomes[outcome]}
          </Notice>
        )}
        <p className="text-muted">
          A ZIP file with what is stored about you and your use of this service, as JSON. It contains no keys and no
          passwords; README.txt in it names everything else that is left out.
        </p>
        <SubmitButton kind="plain" className="justify-self-start">
          Export data
        </SubmitButton>
      </Form>
    </Panel>
  )
}

/** The browser posts the form itself, and stays on this page. */
function Download({ token }: { token: string }) {
  return (
    <Done title="Your export is ready">
      <p className="text-muted">It can be downloaded once, in this browser, within five minutes.</p>
      <form action="/account/settings/export" method="post">
        <input type="hidden" name="token" value={token} />
        <button type="submit" className={buttonStyle("primary")}>
          Download ZIP
        </button>
      </form>
    </Done>
  )
}
