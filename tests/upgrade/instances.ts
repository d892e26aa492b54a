import { join } from "node:path"
import { collect, waitForServer } from "@/scripts/build-and-serve"
import { startChild } from "@/scripts/child"
import { freePort } from "@/scripts/postgres"
import { reportViolation } from "@/tests/load/chaos-checks"
import { exchange } from "@/tests/support/exchange"

/** A build in its folder. */
export type Build = { name: "old" | "new"; folder: string }

export type Instance = { build: Build; address: string; inFlight: number; stop: () => Promise<void> }

function startNode({ folder }: Build, args: readonly string[], env: Record<string, string>) {
  const command = startChild(process.execPath, args, { signal: "TERM", cwd: folder, env: { ...process.env, ...env } })
  return { command, output: collect(command) }
}

/** Runs `npm run db:migrate` of a build, which must succeed, and returns its output. */
export async function migrateWith(build: Build, env: Record<string, string>): Promise<string> {
  const { command, output } = startNode(
    build,
    [join(build.folder, "node_modules/tsx/dist/cli.mjs"), "scripts/migrate.ts"],
    env,
  )
  if ((await command.exited) !== 0) throw new Error(`db:migrate of the ${build.name} build failed:\n\n${output()}`)
  return output()
}

/** Next's message for a submitted form of another build that this build does not have. */
const formOfAnotherBuild = "Failed to find Server Action"

/** Starts `npm start` of a build; errors that it logs are violations. */
export async function startInstance(build: Build, given: Record<string, string>): Promise<Instance> {
  const port = await freePort()
  const address = `http://127.0.0.1:${port}`
  // Production refuses the cheap hashes of tests.
  const own = { NODE_ENV: "production", PASSWORD_HASH_COST: "", HOST: "127.0.0.1", PORT: String(port) }
  const env = { ...own, ...given }
  const { command, output } = startNode(build, ["dist/main.js"], env)
  const instance: Instance = { build, address, inFlight: 0, stop }
  if (!(await waitForServer(command, `${address}/readyz`)))
    throw new Error(`The ${build.name} build ended:\n\n${output()}`)
  const ready = await exchange(`${address}/readyz`, {})
  if (ready?.status !== 200) reportViolation(`The ${build.name} build is not ready: ${ready?.body}`)

  async function stop(): Promise<void> {
    await command.stop()
    const code = await command.exited
    if (code !== 0) reportViolation(`The ${build.name} build ended with code ${code}`)
    for (const line of output().split("\n")) {
      if (line.includes(formOfAnotherBuild)) continue
      if (/"level":"error"|^ ?⨯|Error:/.test(line)) reportViolation(`The ${build.name} build logged: ${line}`)
    }
  }
  return instance
}
