import { type Documented, exampleSearch } from "./document"

/** The languages of the example requests: each runs with nothing installed but the language, the key from `TSK_KEY`. */
const languages = {
  curl: {
    title: "curl",
    write: (url) => `curl "${url}" \\
  -H "Authorization: Bearer $TSK_KEY"`,
  },
  javascript: {
    title: "JavaScript",
    write: (url) => `const response = await fetch("${url}", {
  headers: { Authorization: \`Bearer \${process.env.TSK_KEY}\` },
})
if (!response.ok) throw new Error(await response.text())
console.log(await response.json())`,
  },
  python: {
    title: "Python",
    write: (url) => `import json, os, urllib.request

request = urllib.request.Request(
    "${url}",
    headers={"Authorization": "Bearer " + os.environ["TSK_KEY"]},
)
with urllib.request.urlopen(request) as response:
    print(json.load(response))`,
  },
} as const satisfies Record<string, { title: string; write: (url: string) => string }>

export type Language = keyof typeof languages

export const languageTitles = Object.entries(languages).map(([name, { title }]) => [name as Language, title] as const)

/** The example request of an endpoint in a language. */
export function exampleRequest(endpoint: Documented, language: Language, baseUrl: string): string {
  return languages[language].write(baseUrl + endpoint.path + exampleSearch(endpoint))
}
