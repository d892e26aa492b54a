import { type Browser, chromium, type LaunchOptions } from "@playwright/test"
import { isExecutable, onPath } from "./on-path"

// The headless shell renders pages like the full browser but without its user interface, which costs half a core.
const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
const macApplication = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"

/** No sandbox, which does not work as root or in containers, and no background traffic of the browser. */
const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
]

/** A Chromium: `CHROMIUM_PATH`, Playwright's own, or the system's. */
export function findBrowser(): string | undefined {
  return (
    process.env.CHROMIUM_PATH ||
    [chromium.executablePath()].find(isExecutable) ||
    onPath(...names) ||
    [macApplication].find(isExecutable)
  )
}

/** How Playwright starts the browser. */
export function launchOptions(...more: readonly string[]): LaunchOptions {
  const executablePath = findBrowser()
  return { args: [...flags, ...more], ...(executablePath && { executablePath }) }
}

export function launchBrowser(): Promise<Browser> {
  return chromium.launch(launchOptions())
}
