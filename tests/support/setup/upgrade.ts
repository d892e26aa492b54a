import type { TestProject } from "vitest/node"
import { buildLastRelease } from "@/tests/support/last-release"
import { provideBuild } from "@/tests/support/lifecycle"
import { provide } from "@/tests/support/provide"

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of the last release, built. */
    lastRelease: string
  }
}

export default async function setup(project: TestProject): Promise<void> {
  await provide("redis")
  await provideBuild()
  project.provide("lastRelease", await buildLastRelease())
}
