import { readableJson } from "@/components/code/readable-json"
import { resultInWords } from "@/components/code/result-words"
import type { Sample } from "@/lib/api/sample"
import { inCredits } from "@/lib/credits/words"
import { visible } from "@/lib/platform/text/visible-text"

export type ShownSample = { text: string; words: string; response: string }

export function shownSample({ text, result, cost, response }: Sample): ShownSample {
  return {
    text,
    words: [resultInWords(result), `would cost ${inCredits(cost)}`].filter(Boolean).join(" · "),
    response: visible(readableJson(response)),
  }
}
