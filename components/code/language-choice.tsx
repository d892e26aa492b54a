import { type Language, languageTitles } from "@/lib/api/documents/example-requests"
import type { Surface } from "@/lib/surfaces"
import { CodePanel } from "./code-panel"
import type { CodeLanguage } from "./highlighted"

/** CSS only; needs an ancestor with the class `group/requests`. */
const shownIn: Record<Language, string> = {
  curl: "hidden group-has-[[value=curl]:checked]/requests:block",
  javascript: "hidden group-has-[[value=javascript]:checked]/requests:block",
  python: "hidden group-has-[[value=python]:checked]/requests:block",
}

const languages: Record<Language, CodeLanguage> = { curl: "shell", javascript: "javascript", python: "python" }

/** The same code in each language, of which the chosen one is shown. */
export function ChosenCode({
  title,
  surface,
  codeIn,
}: {
  title: string
  surface?: Surface
  codeIn: (language: Language) => string
}) {
  return languageTitles.map(([language, name]) => (
    <div key={language} data-language={language} className={shownIn[language]}>
      <CodePanel
        title={`${title} in ${name}`}
        code={codeIn(language)}
        language={languages[language]}
        surface={surface}
      />
    </div>
  ))
}

export function LanguageChoice() {
  return (
    <fieldset className="flex items-center gap-1">
      <legend className="sr-only">Language of the example requests</legend>
      {languageTitles.map(([language, title], index) => (
        <label
          key={language}
          className="flex h-8 cursor-pointer items-center rounded-md px-2 font-medium text-muted hover:text-ink has-checked:bg-accent/10 has-checked:text-accent has-focus-visible:outline-2 has-focus-visible:outline-accent"
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
