import { tmpdir } from "node:os"
import { join } from "node:path"
import { defineConfig } from "@playwright/test"
import { browserFlags, findBrowser } from "./tests/support/browser"

// `npm test` chooses a free port.
process.env.E2E_PORT ||= "3100"
// Where the server says which database it uses: tests ban, demote and expire what no page can.
process.env.E2E_DATABASE_FILE ||= join(tmpdir(), `tsk-e2e-${process.env.E2E_PORT}.url`)
// Where the server keeps the letters it sends.
process.env.E2E_MAIL_FILE ||= join(tmpdir(), `tsk-e2e-${process.env.E2E_PORT}.letters`)
const baseURL = `http://localhost:${process.env.E2E_PORT}`
const executablePath = findBrowser()

export default defineConfig({
  // The tests of an optional module stand in its folder, and go with it.
  testMatch: "{e2e,app}/**/*.spec.ts",
  fullyParallel: true,
  workers: 2,
  retries: 0,
  // Busy machines are slow; nothing here waits longer than it must.
  timeout: 90_000,
  expect: { timeout: 20_000 },
  forbidOnly: Boolean(process.env.CI),
  use: {
    baseURL,
    trace: "off",
    screenshot: "only-on-failure",
    launchOptions: { args: browserFlags, ...(executablePath && { executablePath }) },
  },
  webServer: {
    command: "node --import tsx tests/support/e2e-server.ts",
    // Answers 401 as soon as the server serves.
    url: `${baseURL}/api/v1/me`,
    timeout: 240_000,
    stderr: "pipe",
    gracefulShutdown: { signal: "SIGTERM", timeout: 15_000 },
  },
})
