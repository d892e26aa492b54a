import { rm } from "node:fs/promises"
import { changedCopy, makeChangedCopy, testChangedCopy } from "@/tests/support/changed-copy"
import { succeeds } from "@/tests/support/copy"
import { provide } from "@/tests/support/provide"

export default async function setup(): Promise<() => Promise<void>> {
  await provide("redis", "browser")
  await makeChangedCopy()
  await testChangedCopy("app/api/v1/examples.test.ts", "--update")
  await succeeds(changedCopy, "@biomejs/biome/bin/biome", ["check", "--write", "."])
  await succeeds(changedCopy, "tsx/dist/cli.mjs", ["tests/support/build.ts"])
  return () => rm(changedCopy, { recursive: true })
}
