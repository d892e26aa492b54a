/** A text to copy, with `keyPlaceholder` in place of the key. */
export type Snippet = { title: string; copy: string; text: string }

export const keyPlaceholder = "{key}"

export function withKey({ text }: Snippet, secret: string): string {
  return text.replaceAll(keyPlaceholder, secret)
}
