/** The first number of a result, in words: `{ words: 14 }` is "14 words", `{ sum: 6.5 }` is "sum 6.5". */
export function resultInWords(result: unknown): string | undefined {
  const [name, value] = Object.entries(result ?? {}).find(([, value]) => typeof value === "number") ?? []
  if (name === undefined) return undefined
  const words = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  const number = Number(value).toLocaleString("en")
  // A plural is a count.
  if (!words.endsWith("s")) return `${words} ${number}`
  return `${number} ${value === 1 ? words.slice(0, -1) : words}`
}
