export function inWords(name: string): string {
  return capitalized(name.replaceAll("_", " "))
}

export function capitalized(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1)
}
