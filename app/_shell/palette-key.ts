/** Ctrl K, by its character, or by its place on a keyboard of another script. Autofill events have neither. */
export function isPaletteKey({ key, code, ctrlKey, metaKey, shiftKey, altKey }: KeyboardEvent): boolean {
  if (!(ctrlKey || metaKey) || shiftKey || altKey) return false
  return /^k$/i.test(key) || (code === "KeyK" && !/^[a-z]$/i.test(key))
}
