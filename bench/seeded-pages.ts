import type { Browser } from "@playwright/test"
import { pool } from "@/lib/postgres/pool"
import { seed } from "@/prisma/seed"
import { serve } from "@/scripts/build-and-serve"
import { launchBrowser } from "@/tests/support/browser"
import { provideBuild, stopAtExit } from "@/tests/support/lifecycle"
import { provide } from "@/tests/support/provide"
import { type Given, openDatabase, startServer } from "./bench"

/** Starts the build with 200 seeded accounts, and a browser for its pages. */
export async function openSeededPages(): Promise<{ given: Given; address: string; browser: Browser }> {
  await provideBuild()
  await provide("browser")
  const given = await openDatabase(10)
  await seed(pool(), { users: 200, now: new Date() })
  const { address } = await startServer((port) => serve(port, given), "/api/v1/me")
  const browser = await launchBrowser()
  stopAtExit({ stop: () => browser.close() })
  return { given, address, browser }
}
