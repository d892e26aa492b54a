import { createElement, type ReactNode } from "react"
import { type ParseOptions, parse, type TokenType } from "sugar-high/core"
import * as javascript from "sugar-high/lang/javascript"
import * as json from "sugar-high/lang/json"
import * as python from "sugar-high/lang/python"
import * as shell from "sugar-high/lang/shell"

const grammars = { shell, javascript, python, json }

export type CodeLanguage = keyof typeof grammars

/** The browser gets elements that app/globals.css colors, and no script. */
export function Highlighted({ language, children: code }: { language: CodeLanguage; children: string }): ReactNode {
  const runs: { tag: string | undefined; text: string }[] = []
  const add = (tag: string | undefined, text: string) => {
    const last = runs.at(-1)
    if (last && last.tag === tag) last.text += text
    else runs.push({ tag, text })
  }
  // The package declares the options of its own tokenizer for JavaScript too narrowly.
  parse(code, grammars[language] as ParseOptions).lines.forEach(({ tokens }, index) => {
    if (index > 0) add(undefined, "\n")
    for (const { type, value } of tokens) add(tagOf(type, value), value)
  })
  const parts = runs.map(({ tag, text }) => (tag ? createElement(tag, null, text) : text))
  // As arguments, so that no part needs a key, which would be sent as well.
  return createElement("code", { className: "code" }, ...parts)
}

const tags: Partial<Record<TokenType, string>> = { keyword: "b", string: "i", comment: "em" }

function tagOf(type: TokenType, value: string): string | undefined {
  // The parser has no type for numbers.
  return type === "class" && /^\d/.test(value) ? "b" : tags[type]
}
