import { execFile } from "node:child_process"
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { envNames } from "@/lib/env"
import { root } from "@/scripts/root"
import { copySources, succeeds } from "./support/copy"
import { checkTypes } from "./support/optional"

const run = promisify(execFile)

/** Without the variables of this test, and with the programs of the packages. */
const env = {
  ...process.env,
  ...Object.fromEntries([...envNames, "LONG"].map((name) => [name, ""])),
  PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}`,
}

test("every command and every file of the tutorial works on a copy, and the tests of its API pass", {
  timeout: 900_000,
}, async () => {
  const copy = await copySources("tutorial")
  try {
    const text = await readFile(join(root, "docs/tutorial.md"), "utf8")
    const blocks = [...text.matchAll(/^```(sh|ts)\n(.*?)^```$/gms)]
    expect(blocks.length).toBeGreaterThan(7)
    for (const [, language, code = ""] of blocks) {
      if (language === "ts") await write(copy, code)
      else await run("sh", ["-ec", `exec 2>&1\n${code}`], { cwd: copy, env }).catch(({ stdout }) => expect.fail(stdout))
    }
    await checkTypes(copy)
    await succeeds(copy, "vitest/vitest.mjs", ["run", "--project=unit", "app/api/v1", "lib/permissions", "prisma"])
  } finally {
    await rm(copy, { recursive: true })
  }
})

/** The first line names the file and, for a part of the file, the constant that the block replaces. */
async function write(copy: string, block: string): Promise<void> {
  const [, file = "", constant, code = ""] = /^\/\/ (\S+?)(?:: (\w+))?\n(.*)$/s.exec(block) ?? expect.fail(block)
  const target = join(copy, file)
  await mkdir(dirname(target), { recursive: true })
  if (!constant) return writeFile(target, code)
  const before = await readFile(target, "utf8")
  const statement = new RegExp(`^export const ${constant}\\b.*?^[}\\]]\\n`, "ms")
  expect(before).toMatch(statement)
  await writeFile(
    target,
    before.replace(statement, () => code),
  )
}
