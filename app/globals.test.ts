import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { type Color, rgbOf } from "@/lib/platform/text/color"
import { product } from "@/lib/product"
import { root } from "@/scripts/root"

const css = readFileSync(join(root, "app/globals.css"), "utf8")

test.each(["light", "dark"] as const)(
  "in %s mode every hue of the accent and of the admin data API has the contrast of WCAG 2.2 AA for text",
  (scheme) => {
    const pairs = Array.from({ length: 360 }, (_, hue) => hue).flatMap((hue) => {
      const color = (name: string) => colorOf(scheme, name, hue)
      const surfaces = ["page", "panel", "sunken"].map(color)
      const compared = [
        ...["accent", "admin"].map(color).flatMap((text) => [
          ...surfaces.map((surface) => [text, surface] as const),
          // The first characters of a key, on a hovered row.
          [text, mixed(text, color("sunken"), 0.08)] as const,
          // A selected item and a chip have a tenth of the color behind their text, on the page or on a panel.
          ...surfaces.slice(0, 2).map((surface) => [text, mixed(text, surface, 0.1)] as const),
        ]),
        [color("on-accent"), color("accent")] as const,
        [color("on-accent"), color("accent-strong")] as const,
      ]
      return compared.map(([text, behind]) => ({ hue, contrast: contrast(text, behind) }))
    })
    expect(pairs.filter(({ contrast }) => !(contrast >= 4.5))).toEqual([])
  },
)

test.each(["light", "dark"] as const)(
  "in %s mode highlighted code has the contrast of text, and the colors of a chart that of graphics and of each other",
  (scheme) => {
    const color = (name: string) => colorOf(scheme, name, product.accentHue)
    const [page, panel] = [color("page"), color("panel")]
    for (const behind of [page, panel, color("sunken")]) expect(contrast(color("code"), behind)).toBeGreaterThan(4.5)
    const series = ["accent", "second", "third"].map(color)
    for (const one of [...series, color("bad")]) {
      for (const behind of [page, panel]) expect(contrast(one, behind)).toBeGreaterThan(3)
    }
    // Without hues, as for people who see no colors, they still differ.
    const lightness = series.map(luminance).sort((one, other) => one - other)
    const steps = lightness.slice(1).map((light, index) => (light + 0.05) / ((lightness[index] ?? 0) + 0.05))
    for (const step of steps) expect(step).toBeGreaterThan(1.5)
  },
)

test("black on white has a contrast of 21, and oklch(0.628 0.2577 29.23) is red", () => {
  expect(contrast([0, 0, 0], [1, 1, 1])).toBeCloseTo(21)
  const [red, green, blue] = rgbOf(0.628, 0.2577, 29.23).map((part) => Math.round(part * 255))
  expect([red, green, blue]).toEqual([255, 0, 0])
})

/** The sRGB color of a variable of globals.css. */
function colorOf(scheme: "light" | "dark", name: string, hue: number): Color {
  const color = "oklch\\(([\\d.]+) ([\\d.]+) (\\S+)\\)"
  const found = new RegExp(`--${name}: light-dark\\(${color}, ${color}\\);`).exec(css) ?? expect.fail(`no ${name}`)
  const [l, c, h] = scheme === "light" ? found.slice(1, 4) : found.slice(4)
  return rgbOf(Number(l), Number(c), h?.startsWith("var(") ? hue : Number(h))
}

function mixed(color: Color, behind: Color, share: number): Color {
  const mix = (index: 0 | 1 | 2) => color[index] * share + behind[index] * (1 - share)
  return [mix(0), mix(1), mix(2)]
}

/** WCAG 2.2, definitions of contrast ratio and relative luminance. */
function contrast(one: Color, other: Color): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance([red, green, blue]: Color): number {
  const linear = (part: number) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}
