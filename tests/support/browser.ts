import { chromium } from "@playwright/test"
import { isExecutable, onPath } from "./programs"

// The headless shell draws pages as the whole browser does, without the windows around them, which cost half of a core.
const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
const macApplication = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"

/** Nothing but the page: no sandbox, which root and containers lack, and no traffic of the browser's own. */
export const browserFlags = [
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
