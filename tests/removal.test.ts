import { existsSync } from "node:fs"
import { cp, readdir, readFile, rm } from "node:fs/promises"
import { basename, join, relative } from "node:path"
import { encode } from "next-auth/jwt"
import { beforeAll, describe, expect, test } from "vitest"
import { env } from "@/lib/env"
import { pool } from "@/lib/postgres/pool"
import { db } from "@/lib/postgres/prisma"
import { cookieName } from "@/lib/sign-in/cookies"
import { sessionToken } from "@/lib/sign-in/next-auth"
import { demoAccounts, demoKey } from "@/prisma/demo-accounts"
import { seed } from "@/prisma/seed"
import { collect, waitForServer } from "@/scripts/build-and-serve"
import { type Child, startChild } from "@/scripts/child"
import { freePort } from "@/scripts/postgres"
import { root } from "@/scripts/root"

// An optional module is removed by deleting the folders with its name and nothing else. These tests do so in a copy.

const documentsAndEndpoints = ["contract", "examples", "openapi", "skill", "index.json"]

const optional = ["audit", "emails", "feedback", "waitlist"]
const modules = optional.filter((name) => foldersOf(name).length > 0)

/** Matches a URL or an import of these modules, except for imports from lib. */
const naming = (names: readonly string[]) => new RegExp(`(?<!/lib)/(${names.join("|")})\\b`)

// No module depends on another, so a copy without all of them also covers the removal of a single one.
test("no page, component or endpoint refers to a module outside the module's own folders", async () => {
  const files = (await Promise.all(["app", "components"].map(filesBelow))).flat()
  const sources = files.filter((file) => !/\.(test|spec)\.tsx?$/.test(file))
  expect(sources.length).toBeGreaterThan(50)
  const named = await Promise.all(
    sources.map(async (file) => {
      const text = await readFile(join(root, file), "utf8")
      const others = optional.filter((name) => !foldersOf(name).some((folder) => file.startsWith(`${folder}/`)))
      return others.filter((name) => naming([name]).test(text)).map((name) => `${file} names ${name}`)
    }),
  )
  expect(named.flat()).toEqual([])
})

describe("without any optional module", () => {
  const copy = copyWithout(modules)

  test("the tests of the remaining endpoints and documents pass", () =>
    succeeds(copy, "vitest/vitest.mjs", ["run", "--project=unit", "--reporter=dot", ...documentsAndEndpoints]))

  describe("built and served", () => {
    let base = ""
    let cookie = ""

    beforeAll(async () => {
      // Also checks the types of all sources and tests.
      await succeeds(copy, "next/dist/bin/next", ["build"], { NODE_ENV: "production" })
      const port = await freePort()
      base = `http://localhost:${port}`
      const server = start(copy, "next/dist/bin/next", ["start", "-p", String(port), "-H", "127.0.0.1"], {
        NODE_ENV: "production",
        BASE_URL: base,
      })
      const output = collect(server)
      if (!(await waitForServer(server, base))) throw new Error(output())
      await seed(pool(), { users: 30, now: new Date() })
      const admin = await db().user.findUniqueOrThrow({ where: { email: "admin@example.com" } })
      const token = await encode({ token: sessionToken(admin), secret: env().AUTH_SECRET })
      cookie = `${cookieName("session")}=${token}`
      return server.stop
    })

    test.each(modules)(
      "the endpoint of %s returns 404 in the envelope, even to a caller with the permission",
      async (name) => {
        const owner = demoAccounts.find(({ role }) => role === "owner") ?? expect.fail()
        const headers = { Authorization: `Bearer ${demoKey(owner)}` }
        expect((await fetch(`${base}/api/v1/admin/users`, { headers })).status).toBe(200)
        const response = await fetch(`${base}/api/v1/admin/${name}`, { headers })
        expect(response.status).toBe(404)
        expect(await response.json()).toEqual({ error: { code: "not_found", message: expect.any(String) } })
      },
    )

    test.each(modules.flatMap((name) => [`/admin/${name}`, `/${name}`]))("the page %s returns 404", async (path) => {
      expect((await fetch(base + path, { headers: { cookie } })).status).toBe(404)
    })

    test("no page links to a removed module", async () => {
      const reached = [...(await statuses("/")), ...(await statuses("/admin", cookie))]
      expect(reached.map(([path]) => path)).toEqual(expect.arrayContaining(["/sign-up", "/admin/orders", "/api-keys"]))
      expect(reached.filter(([path, status]) => status >= 400 || naming(optional).test(path))).toEqual([])
    })

    test.each(["/api/v1/openapi.json", "/api/v1/admin/skill.md", "/llms.txt", "/.well-known/agent-skills/index.json"])(
      "%s does not mention removed modules",
      async (path) => {
        const response = await fetch(base + path)
        expect(response.status).toBe(200)
        expect(await response.text()).not.toMatch(naming(optional))
      },
    )

    /** All pages reachable by links, with their status; of pages that differ only in an id or the query, only one. */
    async function statuses(first: string, session = ""): Promise<[path: string, status: number][]> {
      const found = new Map([[kindOf(first), 0]])
      const links = [first]
      for (const link of links) {
        const response = await fetch(base + link, { headers: { cookie: session } })
        found.set(kindOf(link), response.status)
        const page = await response.text()
        for (const [, href = ""] of page.matchAll(/<a [^>]*href="(\/[^"]*)"/g)) {
          if (found.has(kindOf(href))) continue
          found.set(kindOf(href), 0)
          links.push(href.replaceAll("&amp;", "&"))
        }
      }
      return [...found]
    }
  })
})

function kindOf(link: string): string {
  const [path = ""] = link.split(/[?#]/)
  return path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "{id}")
}

/** The existing folders of a module. */
function foldersOf(name: string): string[] {
  return [`app/api/v1/admin/${name}`, `app/admin/${name}`, `app/${name}`].filter((folder) =>
    existsSync(join(root, folder)),
  )
}

async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(join(root, directory), { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => relative(root, join(parentPath, name)))
}

/**
 * Returns the path of a copy of the sources without these modules, which exists while the surrounding tests run.
 * It is inside the project so that packages resolve: the bundler does not follow a symbolic link to node_modules.
 */
function copyWithout(names: readonly string[]): string {
  const copy = join(root, `.data/without-${names.join("-")}`)
  // With its own lockfile, the copy would be a separate project without packages.
  const excluded = /^\.|^(node_modules|package-lock\.json|test-results|playwright-report)$/

  beforeAll(async () => {
    await rm(copy, { recursive: true, force: true })
    for (const entry of (await readdir(root)).filter((name) => !excluded.test(name))) {
      const filter = (source: string) => basename(source) !== "node_modules"
      await cp(join(root, entry), join(copy, entry), { recursive: true, filter })
    }
    for (const folder of names.flatMap(foldersOf)) await rm(join(copy, folder), { recursive: true })
    return () => rm(copy, { recursive: true, force: true })
  })
  return copy
}

/** Runs a program and fails with its output if its exit code is not 0. */
async function succeeds(copy: string, program: string, args: readonly string[], environment = {}): Promise<void> {
  const command = start(copy, program, args, environment)
  const output = collect(command)
  if ((await command.exited) !== 0) throw new Error(`${program} ${args.join(" ")} failed:\n\n${output()}`)
}

/** Starts a program of an npm package in a copy. */
function start(copy: string, program: string, args: readonly string[], environment: Record<string, string>): Child {
  return startChild(process.execPath, [join(root, "node_modules", program), ...args], {
    signal: "TERM",
    cwd: copy,
    env: { ...process.env, ...environment },
  })
}
