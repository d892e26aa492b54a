import { provideBuild } from "@/tests/support/lifecycle"
import { provide } from "@/tests/support/provide"

export default async function setup(): Promise<void> {
  await provide("redis", "prometheus")
  await provideBuild()
}
