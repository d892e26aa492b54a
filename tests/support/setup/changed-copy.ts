import { buildChangedCopy } from "@/tests/support/changed-copy"
import { provide } from "@/tests/support/provide"

export default async function setup(): Promise<() => Promise<void>> {
  await provide("redis", "browser")
  return buildChangedCopy()
}
