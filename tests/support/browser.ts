import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { chromium } from "@playwright/test"
import { canInstall, installPackage } from "./apt"
import { isExecutable, onPath } from "./programs"
import { root } from "./root"

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

/** Installs a Chromium where none is found: Playwright's, or the distribution's where that cannot be downloaded. */
export async function provideBrowser(): Promise<void> {
  if (findBrowser()) return
  const cli = join(root, "node_modules/@playwright/test/cli.js")
  await promisify(execFile)(process.execPath, [cli, "install", "chromium"], { timeout: 300_000 }).catch(() => {})
  if (!findBrowser() && canInstall()) {
    await installPackage("chromium-headless-shell").catch(() => installPackage("chromium"))
  }
  if (!findBrowser()) throw new Error("The browser tests need a Chromium: install one, or name it in CHROMIUM_PATH.")
}
