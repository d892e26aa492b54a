import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { Browser, Request } from "@playwright/test"
import type { Role } from "@/lib/permissions"
import { root } from "@/scripts/root"
import { runProgram } from "@/tests/support/lifecycle"
import { type Cookie, cookieOf, median, sized } from "./bench"
import { openSeededPages } from "./seeded-pages"

// Measures how much JavaScript (gzip) a browser with an empty cache loads for a page, above an empty page of the build, and
// when its largest element is painted (LCP, https://web.dev/articles/lcp), above the time of a page without content.
// An empty page has no components and loads only the root main files of Next's build manifest: React and Next's client
// runtime. The 3.5 KB that Next adds for its boundaries count as the product's.

const goalKilobytes = 75
const pages = [
  { path: "/" },
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
  const { given, address, browser } = await openSeededPages()

  const empty = await emptyPage()
  const floor = await paintOf(browser, [], `${address}/no-such-page`)
  console.log(`LCP of a page that was not found: ${floor.toFixed(0)} ms`)
  console.log(`${"KB of JavaScript".padEnd(20)}first load   above empty      prefetched        LCP`)
  for (const visit of sized<readonly Visit[]>(pages, pages.slice(0, 2))) {
    const cookies = visit.viewer ? [await cookieOf(visit.viewer, given, address)] : []
    const first = await scriptsOf(browser, cookies, address + visit.path, false)
    const linked = await scriptsOf(browser, cookies, address + visit.path, true)
    const above = kilobytesOf(first, empty)
    const lcp = (await paintOf(browser, cookies, address + visit.path)) / floor
    const columns = [kilobytesOf(first), above, kilobytesOf(linked, [...first.keys()])]
    const cells = columns.map((value, column) => value.toFixed(1).padStart([10, 14, 16][column] ?? 0))
    cells.push(`${lcp.toFixed(2)} x`.padStart(11))
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

const loads = 7

/** The median time until the largest element of a page is painted, in milliseconds, with an empty cache. */
async function paintOf(browser: Browser, cookies: readonly Cookie[], url: string): Promise<number> {
  const times: number[] = []
  while (times.length < loads) {
    const context = await browser.newContext()
    await context.addCookies(cookies)
    const page = await context.newPage()
    await page.goto(url, { waitUntil: "networkidle" })
    times.push(
      await page.evaluate(
        () =>
          new Promise<number>((resolve) => {
            const observer = new PerformanceObserver((list) => resolve(list.getEntries().at(-1)?.startTime ?? 0))
            observer.observe({ type: "largest-contentful-paint", buffered: true })
          }),
      ),
    )
    await context.close()
  }
  return median(times)
}

function kilobytesOf(scripts: Scripts, without: readonly string[] = []): number {
  const sizes = [...scripts].map(([path, size]) => (without.includes(path) ? 0 : size))
  return sizes.reduce((sum, size) => sum + size, 0) / 1_000
}

await runProgram(main)
