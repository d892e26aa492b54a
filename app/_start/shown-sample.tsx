import { CodePanel } from "@/components/code/code-panel"
import { readableJson } from "@/components/code/readable-json"
import type { Sample } from "@/lib/api/sample"
import { inCredits } from "@/lib/credits/words"
import { visible } from "@/lib/platform/text/visible-text"
import type { ShownSample } from "./sample-form"

export function shownSample({ text, counts, cost, response }: Sample, isScripted = true): ShownSample {
  const code = visible(readableJson(response))
  return {
    text,
    words: [...counts, `would cost ${inCredits(cost)}`].join(" · "),
    response: isScripted ? <CodePanel title="Response" code={code} language="json" surface="user" /> : code,
  }
}
