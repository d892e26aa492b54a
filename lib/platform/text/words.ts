/** A name as the words of a page: "Past due" of "past_due". */
export function inWords(name: string): string {
  return capitalized(name.replaceAll("_", " "))
}

export function capitalized(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1)
}
