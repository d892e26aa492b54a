import type { TestProject } from "vitest/node"
import { buildImage } from "@/tests/support/image"
import { provide } from "@/tests/support/provide"

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await provide("redis", "buildah", "mmdebstrap", "bubblewrap", "compose")
  const { image, remove } = await buildImage()
  project.provide("image", image)
  return remove
}
