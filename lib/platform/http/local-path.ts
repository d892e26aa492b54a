/** A URL that could lead to another site becomes `/`. */
export function localPath(callbackUrl: string | undefined): string {
  const base = "http://local"
  if (!callbackUrl?.startsWith("/") || !URL.canParse(callbackUrl, base)) return "/"
  const { origin, pathname, search } = new URL(callbackUrl, base)
  return origin === base && !pathname.startsWith("//") ? pathname + search : "/"
}
