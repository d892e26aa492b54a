/** Without spaces, hyphens of any kind and invisible characters. */
export function typedCode(typed: string): string {
  return typed
    .slice(0, 200)
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[\s\p{Pd}\p{Cf}\u2212]/gu, "")
}
