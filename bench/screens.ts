import { mkdir, readdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { Browser } from "@playwright/test"
import { openLook } from "@/e2e/pages"
import { root } from "@/scripts/root"
import { runProgram } from "@/tests/support/lifecycle"
import { type Look, looks } from "@/tests/support/pages"
import { cookieOf, type Given } from "./bench"
import { openSeededPages } from "./seeded-pages"

// Takes screenshots of every page in both color schemes at three widths and writes them to .data/screens. Screenshots
// that docs/screens has are replaced there, and the one on /for-operators in public/screens. Usage: npm run screens, or
// npm run screens -- account admin-users for pages by their names.

const widths = [390, 1024, 1440]
const schemes = ["light", "dark"] as const
const quality = 70
/** The screenshot of a longer page has its beginning. */
const maxHeight = 2_400

/** On /for-operators. */
const shown = looks.filter(({ address }) => address === "/admin").map((look) => ({ ...look, name: "overview" }))
const shownSize = { width: 1440, height: 900 }

async function main(names: readonly string[]): Promise<void> {
  const isChosen = ({ name }: Look) => names.length === 0 || names.includes(name)
  const { given, address, browser } = await openSeededPages()
  // First the screenshots that are on a page.
  for (const shot of shown.filter(isChosen)) {
    for (const scheme of schemes) {
      const file = join("public/screens", `${shot.name}-${scheme}.webp`)
      await take(browser, given, address, shot, scheme, shownSize, shownSize.height, file)
    }
  }
  const documented = await readdir(join(root, "docs/screens"))
  for (const shot of looks.filter(isChosen)) {
    for (const scheme of schemes) {
      for (const width of widths) {
        const name = `${shot.name}-${width}-${scheme}.webp`
        const file = join(documented.includes(name) ? "docs/screens" : ".data/screens", name)
        await take(browser, given, address, shot, scheme, { width, height: 844 }, maxHeight, file)
      }
    }
  }
}

async function take(
  browser: Browser,
  given: Given,
  address: string,
  look: Look,
  colorScheme: (typeof schemes)[number],
  viewport: { width: number; height: number },
  highest: number,
  file: string,
): Promise<void> {
  const context = await browser.newContext({ colorScheme, viewport })
  try {
    if (look.viewer) await context.addCookies([await cookieOf(look.viewer, given, address)])
    const page = await context.newPage()
    await openLook(page, look, address)
    const height = Math.min(highest, await page.evaluate(() => document.documentElement.scrollHeight))
    const client = await context.newCDPSession(page)
    const clip = { x: 0, y: 0, width: viewport.width, height: Math.max(height, viewport.height), scale: 1 }
    const taken = { format: "webp", quality, clip, captureBeyondViewport: true } as const
    const { data } = await client.send("Page.captureScreenshot", taken)
    await mkdir(dirname(join(root, file)), { recursive: true })
    await writeFile(join(root, file), Buffer.from(data, "base64"))
    console.log(file)
  } finally {
    await context.close()
  }
}

await runProgram(() => main(process.argv.slice(2)))
