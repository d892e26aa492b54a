import { provide } from "../provide"
import { provideBuild } from "../run-program"

export default async function setup(): Promise<void> {
  await provide("redis", "haproxy", "libfaketime", "browser")
  await provideBuild()
}
