import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { product } from "@/lib/product"
import { root } from "@/scripts/root"
import { onPath } from "./support/on-path"

// The unit in ops. systemd itself runs in no test.

const run = promisify(execFile)
const file = `${product.slug}.service`
const text = await readFile(join(root, "ops", file), "utf8")

function setting(name: string): string | undefined {
  return new RegExp(`^${name}=(.*)$`, "m").exec(text)?.[1]
}

test("systemd waits for the server's complete shutdown, and restarts the server after any end", async () => {
  const operation = await readFile(join(root, "docs/operation.md"), "utf8")
  const [, graceSeconds] = /still in progress after (\d+) seconds/.exec(operation) ?? []
  expect(Number(setting("TimeoutStopSec"))).toBeGreaterThan(Number(graceSeconds) + 5)
  expect([setting("Type"), setting("Restart"), setting("KillSignal")]).toEqual(["simple", "always", "SIGTERM"])
  // The primary process tells its workers itself.
  expect(setting("KillMode")).toBe("mixed")
})

test("it starts the command of `npm start` as its own user, with secrets from a file outside the sources", async () => {
  const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8"))
  expect(setting("ExecStart")).toBe(`/usr/bin/${scripts.start}`)
  expect([setting("User"), setting("EnvironmentFile")]).toEqual(["%N", "/etc/%N.env"])
})

test("systemd understands every line, and rates the exposure of the server below 2 of 10", async () => {
  expect([setting("ProtectSystem"), setting("NoNewPrivileges"), setting("CapabilityBoundingSet")]).toEqual([
    "strict",
    "true",
    "",
  ])
  const analyze = onPath("systemd-analyze")
  if (!analyze) return console.log("Without systemd-analyze, systemd does not check the unit.")
  const directory = await mkdtemp(join(tmpdir(), "unit-"))
  const copy = join(directory, file)
  await writeFile(copy, text.replace("/usr/bin/node", process.execPath))
  try {
    expect(await run(analyze, ["verify", copy])).toEqual({ stdout: "", stderr: "" })
    await run(analyze, ["security", "--offline=true", "--threshold=20", copy])
  } finally {
    await rm(directory, { recursive: true })
  }
})
