export function isOfApi(path: string): boolean {
  return /^\/(api\/(?!auth\/)|mcp\/)/.test(path)
}
