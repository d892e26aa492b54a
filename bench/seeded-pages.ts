import type { Browser } from "@playwright/test"
import { seed } from "@/prisma/seed"
import { serve } from "@/scripts/build-and-serve"
import { launchBrowser } from "@/tests/support/browser"
import { provideBuild, stopAtExit } from "@/tests/support/lifecycle"
import { ownerPool } from "@/tests/support/owner"
import { provide } from "@/tests/support/provide"
import { type Given, openDatabase, startServer } from "./bench"

/** Starts the build with 200 seeded accounts, and a browser for its pages. */
export async function openSeededPages(): Promise<{ given: Given; address: string; browser: Browser }> {
  await provideBuild()
  await provide("browser")
  const given = await openDatabase(10)
  await seed(ownerPool(), { users: 200, now: new Date() })
  const { address } = await startServer((port) => serve(port, given), "/api/v1/me")
  const browser = await launchBrowser()
  stopAtExit({ stop: () => browser.close() })
  // The host of BASE_URL, at which passkeys work.
  return { given, address: address.replace("127.0.0.1", "localhost"), browser }
}
