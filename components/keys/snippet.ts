/** Text to paste, with `keyPlace` where the key belongs. */
export type Snippet = { title: string; copy: string; text: string }

export const keyPlace = "{key}"

export function withKey({ text }: Snippet, secret: string): string {
  return text.replaceAll(keyPlace, secret)
}
