import { execFile } from "node:child_process"
import { access, rm, writeFile } from "node:fs/promises"
import { promisify } from "node:util"

const run = promisify(execFile)

// Debian's packages start their services when installed, unless this script forbids it (invoke-rc.d(8)).
const policy = "/usr/sbin/policy-rc.d"

/** Of the lists of packages; once is enough for all that are installed. */
let update: Promise<unknown> | undefined

export function canInstall(): boolean {
  return process.platform === "linux" && process.getuid?.() === 0
}

/** Installs a Debian package without starting its service. */
export async function installPackage(name: string): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" }
  const hadPolicy = await access(policy).then(
    () => true,
    () => false,
  )
  if (!hadPolicy) await writeFile(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 })
  try {
    const options = { env, maxBuffer: 64 * 1024 * 1024 }
    update ??= run("apt-get", ["update", "-qq"], options)
    await update
    await run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", name], options)
  } finally {
    if (!hadPolicy) await rm(policy, { force: true })
  }
}
