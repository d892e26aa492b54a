import { execFile } from "node:child_process"
import { access, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { root } from "@/scripts/root"
import { findBrowser } from "./browser"
import { findFaketime } from "./clock"
import { findDebianPostgres } from "./debian-cluster"
import { findHaproxy } from "./haproxy"
import { onPath } from "./on-path"
import { findPrometheus } from "./prometheus"
import { findRedis } from "./redis"

const run = promisify(execFile)

type Program = {
  find: () => string | undefined
  /** The Debian packages that contain the program, tried in order until one is installed. */
  packages: readonly string[]
  /** A download, tried before the packages. */
  download?: () => Promise<unknown>
  /** The environment variable for its path if it is not on the PATH. */
  variable?: string
}

/** The programs that tests and measurements need in addition to the npm packages. */
const programs = {
  redis: { find: findRedis, packages: ["redis-server"], variable: "REDIS_SERVER_PATH" },
  haproxy: { find: findHaproxy, packages: ["haproxy"], variable: "HAPROXY_PATH" },
  prometheus: { find: findPrometheus, packages: ["prometheus"], variable: "PROMETHEUS_PATH" },
  // Debian makes a cluster "main" of it, which is not started: see below.
  postgresql: { find: findDebianPostgres, packages: ["postgresql"] },
  pgbackrest: { find: () => onPath("pgbackrest"), packages: ["pgbackrest"] },
  patroni: { find: () => onPath("patroni"), packages: ["patroni"] },
  etcd: { find: () => onPath("etcd"), packages: ["etcd-server"] },
  jq: { find: () => onPath("jq"), packages: ["jq"] },
  libfaketime: { find: findFaketime, packages: ["libfaketime"] },
  browser: {
    find: findBrowser,
    packages: ["chromium-headless-shell", "chromium"],
    download: downloadBrowser,
    variable: "CHROMIUM_PATH",
  },
  curl: { find: () => onPath("curl"), packages: ["curl"] },
  python: { find: () => onPath("python3"), packages: ["python3"] },
  buildah: { find: () => onPath("buildah"), packages: ["buildah"] },
  mmdebstrap: { find: () => onPath("mmdebstrap"), packages: ["mmdebstrap"] },
  bubblewrap: { find: () => onPath("bwrap"), packages: ["bubblewrap"] },
  compose: { find: () => onPath("docker-compose"), packages: ["docker-compose"] },
  wrk: { find: () => onPath("wrk"), packages: ["wrk"] },
} satisfies Record<string, Program>

type ProgramName = keyof typeof programs

/**
 * Installs missing programs, one after the other, and prints the names of programs that cannot be installed. Tests that
 * need one of them then fail, except for libfaketime, which has a fallback.
 */
export async function provide(...names: readonly ProgramName[]): Promise<void> {
  const missing: string[] = []
  for (const name of names) {
    const program: Program = programs[name]
    if (program.find()) continue
    console.log(`· Installing ${name}`)
    await program.download?.().catch(() => {})
    for (const debian of program.packages) {
      if (!program.find() && mayInstall()) await installPackage(debian).catch(() => {})
    }
    if (!program.find()) missing.push(program.variable ? `${name} (or set ${program.variable} to its path)` : name)
  }
  if (missing.length > 0) console.error(`Programs that could not be installed: ${missing.join(", ")}.`)
}

function downloadBrowser(): Promise<unknown> {
  const cli = join(root, "node_modules/@playwright/test/cli.js")
  return run(process.execPath, [cli, "install", "chromium"], { timeout: 300_000 })
}

function mayInstall(): boolean {
  return process.platform === "linux" && process.getuid?.() === 0
}

// Debian's packages start their services when installed, unless this script forbids it (invoke-rc.d(8)).
const policy = "/usr/sbin/policy-rc.d"

/** The package list is updated once for all packages. */
let update: Promise<unknown> | undefined

async function installPackage(name: string): Promise<void> {
  // Another program may be installing packages: apt-get waits for it.
  const options = ["-y", "-qq", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120"]
  const settings = { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" }, maxBuffer: 64 * 1024 * 1024 }
  const hadPolicy = await access(policy).then(
    () => true,
    () => false,
  )
  if (!hadPolicy) await writeFile(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 })
  try {
    update ??= run("apt-get", ["update", "-qq"], settings)
    await update
    await run("apt-get", ["install", ...options, name], settings)
  } finally {
    if (!hadPolicy) await rm(policy, { force: true })
  }
}
