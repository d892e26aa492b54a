import { execFile } from "node:child_process"
import { copyFile, cp, mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { beforeAll, expect, test } from "vitest"
import { root } from "@/scripts/root"

// Compose reads the files, which needs no daemon. container-files.test.ts checks their content.

const run = promisify(execFile)
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "compose-"))
  await mkdir(join(directory, "scripts"))
  for (const file of ["compose.yaml", "scripts/compose-secrets.sh"])
    await copyFile(join(root, file), join(directory, file))
  await cp(join(root, "ops/ha"), join(directory, "ops/ha"), { recursive: true })
  return () => rm(directory, { recursive: true })
})

const compose = (...given: string[]) => run("docker-compose", [...given, "config", "--services"], { cwd: directory })

test("Compose accepts compose.yaml once the secrets are written; until then, its error names the command that writes them", async () => {
  await expect(compose("--file", "compose.yaml")).rejects.toMatchObject({
    stderr: expect.stringContaining("run scripts/compose-secrets.sh"),
  })
  await run("sh", ["scripts/compose-secrets.sh"], { cwd: directory })
  const { stdout } = await compose("--file", "compose.yaml")
  expect(stdout.trim().split("\n").sort()).toEqual(["mail", "migrate", "postgres", "product", "redis"])
  const cluster = await compose("--env-file", ".env", "--file", "ops/ha/compose.yaml")
  expect(cluster.stdout.trim().split("\n")).toEqual(expect.arrayContaining(["db1", "db2", "db3", "server1", "server2"]))
})
