import { provideBuild } from "@/tests/support/lifecycle"
import { provide } from "@/tests/support/provide"

export default async function setup(): Promise<void> {
  if (process.getuid?.() !== 0) {
    throw new Error("test:ha runs PostgreSQL, Patroni and etcd as the user postgres: run it as root, on Debian.")
  }
  await provide("postgresql", "patroni", "etcd", "haproxy", "prometheus")
  await provideBuild()
}
