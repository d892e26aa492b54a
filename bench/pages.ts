import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { type Browser, chromium, type Request } from "@playwright/test"
import type { Role } from "@/lib/permissions"
import { pool } from "@/lib/postgres/pool"
import { db } from "@/lib/postgres/prisma"
import { seed } from "@/prisma/seed"
import { serve } from "@/scripts/build-and-serve"
import { root } from "@/scripts/root"
import { browserFlags, findBrowser } from "@/tests/support/browser"
import { sessionCookie } from "@/tests/support/client"
import { createSession } from "@/tests/support/factories"
import { provideBuild, runProgram, stopAtExit } from "@/tests/support/lifecycle"
import { provide } from "@/tests/support/provide"
import { type Given, openDatabase, startServer } from "./bench"

// Measures how much JavaScript (gzip) a browser with an empty cache loads for a page, above an empty page of the build.
// An empty page has no components and loads only the root main files of Next's build manifest: React and Next's client
// runtime. The 3.5 KB that Next adds for its boundaries are counted as ours.

const goalKilobytes = 75
const pages = [
  { path: "/api-keys", viewer: "member", hasGoal: true },
  { path: "/admin/users", viewer: "owner", hasGoal: true },
  { path: "/account", viewer: "member" },
  { path: "/admin", viewer: "owner" },
  { path: "/admin/orders", viewer: "owner" },
  { path: "/docs" },
  { path: "/docs/admin" },
  { path: "/sign-in" },
  { path: "/no-such-page" },
] as const satisfies readonly Visit[]

type Visit = { path: string; viewer?: Role; hasGoal?: boolean }

/** The transferred size of each script in bytes, by its path. */
type Scripts = ReadonlyMap<string, number>

async function main(): Promise<void> {
  await provideBuild()
  await provide("browser")
  const given = await openDatabase(10)
  await seed(pool(), { users: 200, now: new Date() })
  const { address } = await startServer((port) => serve(port, given), "/api/v1/me")
  const executablePath = findBrowser()
  const browser = await chromium.launch({ args: browserFlags, ...(executablePath && { executablePath }) })
  stopAtExit({ stop: () => browser.close() })

  const empty = await emptyPage()
  console.log(`${"KB of JavaScript".padEnd(20)}first load   above empty      prefetched`)
  for (const visit of pages as readonly Visit[]) {
    const cookies = visit.viewer ? [await cookieOf(visit.viewer, given, address)] : []
    const first = await scriptsOf(browser, cookies, address + visit.path, false)
    const linked = await scriptsOf(browser, cookies, address + visit.path, true)
    const above = kilobytesOf(first, empty)
    const columns = [kilobytesOf(first), above, kilobytesOf(linked, [...first.keys()])]
    const cells = columns.map((value, column) => value.toFixed(1).padStart([10, 14, 16][column] ?? 0))
    const verdict = above <= goalKilobytes ? "met" : "missed"
    console.log(visit.path.padEnd(20) + cells.join("") + (visit.hasGoal ? `   <= ${goalKilobytes}: ${verdict}` : ""))
  }
}

/** The paths of the scripts that every page of the build loads. */
async function emptyPage(): Promise<string[]> {
  const manifest: { rootMainFiles: string[] } = JSON.parse(
    await readFile(join(root, ".next/build-manifest.json"), "utf8"),
  )
  return manifest.rootMainFiles.map((file) => `/_next/${file}`)
}

/** @param prefetching whether links may prefetch their targets */
async function scriptsOf(
  browser: Browser,
  cookies: readonly Cookie[],
  url: string,
  prefetching: boolean,
): Promise<Scripts> {
  // A new context has an empty cache.
  const context = await browser.newContext()
  try {
    await context.addCookies(cookies)
    const page = await context.newPage()
    const scripts: Request[] = []
    page.on("requestfinished", (request) => request.resourceType() === "script" && scripts.push(request))
    await page.route("**", (route) => {
      const isPrefetch = "next-router-prefetch" in route.request().headers()
      return isPrefetch && !prefetching ? route.abort() : route.continue()
    })
    await page.goto(url, { waitUntil: "networkidle" })
    if (page.url() !== url) throw new Error(`${url} redirected to ${page.url()}.`)
    return new Map(
      await Promise.all(
        scripts.map(async (request) => {
          const { responseBodySize } = await request.sizes()
          return [new URL(request.url()).pathname, responseBodySize] as const
        }),
      ),
    )
  } finally {
    await context.close()
  }
}

type Cookie = { name: string; value: string; url: string }

/** The session cookie of the oldest active account with the role. */
async function cookieOf(role: Role, { AUTH_SECRET }: Given, url: string): Promise<Cookie> {
  const user = await db().user.findFirstOrThrow({ where: { role, status: "active" }, orderBy: { createdAt: "asc" } })
  const token = { sub: user.id, sid: (await createSession(user)).id }
  const [name = "", value = ""] = (await sessionCookie(token, { secret: AUTH_SECRET })).split("=")
  return { name, value, url }
}

function kilobytesOf(scripts: Scripts, without: readonly string[] = []): number {
  const sizes = [...scripts].map(([path, size]) => (without.includes(path) ? 0 : size))
  return sizes.reduce((sum, size) => sum + size, 0) / 1_000
}

await runProgram(main)
