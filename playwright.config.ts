import { randomBytes } from "node:crypto"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { defineConfig } from "@playwright/test"
import { launchOptions } from "./tests/support/browser"

// `npm test` sets a free port.
process.env.E2E_PORT ||= "3100"
// The server writes the URL of its database's owner here: tests make changes that no page offers.
process.env.E2E_DATABASE_FILE ||= join(tmpdir(), `e2e-${process.env.E2E_PORT}.url`)
// Tests sign in by a row in the database and a cookie with this secret, unless they are about the form.
process.env.E2E_AUTH_SECRET ||= randomBytes(32).toString("hex")
// The server writes the emails it sends here.
process.env.E2E_MAIL_FILE ||= join(tmpdir(), `e2e-${process.env.E2E_PORT}.emails`)
// The server writes the address of the stand-in of Stripe here.
process.env.E2E_STRIPE_FILE ||= join(tmpdir(), `e2e-${process.env.E2E_PORT}.stripe`)
const baseURL = `http://localhost:${process.env.E2E_PORT}`

export default defineConfig({
  // The tests of an optional module are in its folder and are removed with it.
  testMatch: "{e2e,app}/**/*.spec.ts",
  fullyParallel: true,
  workers: 2,
  retries: 0,
  // Long enough for a busy machine; a test that passes does not wait for it.
  timeout: 90_000,
  expect: { timeout: 20_000 },
  forbidOnly: Boolean(process.env.CI),
  use: {
    baseURL,
    trace: "off",
    screenshot: "only-on-failure",
    // Animations cost a tenth of the time.
    contextOptions: { reducedMotion: "reduce" },
    // The page of a test is gone before optimized code pays off.
    launchOptions: launchOptions("--js-flags=--no-opt --no-maglev"),
  },
  webServer: {
    command: "node --import tsx tests/support/e2e-server.ts",
    // Returns 401 as soon as the server is ready.
    url: `${baseURL}/api/v1/me`,
    // The server builds the application first, unless it is built.
    timeout: 600_000,
    stderr: "pipe",
    gracefulShutdown: { signal: "SIGTERM", timeout: 15_000 },
  },
})
