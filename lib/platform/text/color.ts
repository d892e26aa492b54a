/** sRGB; each part is 0 to 1. */
export type Color = readonly [red: number, green: number, blue: number]

/** CSS Color 4, sample code for OKLab. Clips colors outside of sRGB, as browsers do. */
export function rgbOf(lightness: number, chroma: number, hue: number): Color {
  const a = chroma * Math.cos((hue * Math.PI) / 180)
  const b = chroma * Math.sin((hue * Math.PI) / 180)
  const long = (lightness + 0.3963377773761749 * a + 0.2158037573099136 * b) ** 3
  const medium = (lightness - 0.1055613458156586 * a - 0.0638541728258133 * b) ** 3
  const short = (lightness - 0.0894841775298119 * a - 1.2914855480194092 * b) ** 3
  return [
    encoded(4.0767416360759574 * long - 3.3077115392580616 * medium + 0.2309699031821044 * short),
    encoded(-1.2684379732850317 * long + 2.6097573492876887 * medium - 0.341319376002657 * short),
    encoded(-0.0041960761386756 * long - 0.7034186179359362 * medium + 1.7076146940746117 * short),
  ]
}

function encoded(linear: number): number {
  const clipped = Math.min(1, Math.max(0, linear))
  return clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055
}

/** Email clients do not know oklch. */
export function hexOf(lightness: number, chroma: number, hue: number): string {
  const parts = rgbOf(lightness, chroma, hue).map((part) => Math.round(part * 255))
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`
}
