/** A figure as it is shown; files and the API keep the hyphen, which programs read. */
export function withMinus(figure: string): string {
  return figure.replace("-", "−")
}
