/**
 * A code as it was issued, from what a person typed or pasted: without spaces, hyphens of any kind and invisible
 * characters, with plain digits, in lower case.
 */
export function typedCode(typed: string): string {
  return typed
    .slice(0, 200)
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[\s\p{Pd}\p{Cf}\u2212]/gu, "")
}
