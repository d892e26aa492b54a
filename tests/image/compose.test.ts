import { execFile } from "node:child_process"
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { beforeAll, expect, test } from "vitest"
import { root } from "@/scripts/root"

// Compose reads compose.yaml, which needs no daemon. container-files.test.ts checks its content.

const run = promisify(execFile)
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "compose-"))
  await mkdir(join(directory, "scripts"))
  for (const file of ["compose.yaml", "scripts/compose-secrets.sh"])
    await copyFile(join(root, file), join(directory, file))
  return () => rm(directory, { recursive: true })
})

const compose = () => run("docker-compose", ["--file", "compose.yaml", "config", "--services"], { cwd: directory })

test("Compose accepts compose.yaml once the secrets are written; until then, its error names the command that writes them", async () => {
  await expect(compose()).rejects.toMatchObject({ stderr: expect.stringContaining("run scripts/compose-secrets.sh") })
  await run("sh", ["scripts/compose-secrets.sh"], { cwd: directory })
  const { stdout } = await compose()
  expect(stdout.trim().split("\n").sort()).toEqual(["mail", "migrate", "postgres", "product", "redis"])
})
