import type { Documented } from "@/lib/api/documents/document"
import { exampleRequest, type Language, languageTitles } from "@/lib/api/documents/example-requests"
import { CodePanel } from "./code-panel"

/** CSS only; needs an ancestor with the class `group/requests`. */
const shownIn: Record<Language, string> = {
  curl: "hidden group-has-[[value=curl]:checked]/requests:block",
  javascript: "hidden group-has-[[value=javascript]:checked]/requests:block",
  python: "hidden group-has-[[value=python]:checked]/requests:block",
}

export function LanguageChoice() {
  return (
    <fieldset className="-mx-2 flex items-center gap-1">
      <legend className="sr-only">Language of the example requests</legend>
      {languageTitles.map(([language, title], index) => (
        <label
          key={language}
          className="flex h-8 cursor-pointer items-center rounded-md px-2.5 font-medium text-muted hover:text-ink has-checked:bg-accent/10 has-checked:text-accent has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name="language"
            value={language}
            defaultChecked={index === 0}
            autoComplete="off"
            className="sr-only"
          />
          {title}
        </label>
      ))}
    </fieldset>
  )
}

/** The request in each language; the choice shows one. */
export function RequestPanels({ endpoint, baseUrl }: { endpoint: Documented; baseUrl: string }) {
  return languageTitles.map(([language, title]) => (
    <div key={language} data-language={language} className={shownIn[language]}>
      <CodePanel title={`Request in ${title}`} code={exampleRequest(endpoint, language, baseUrl)} />
    </div>
  ))
}
