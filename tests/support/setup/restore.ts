import { provideBuild } from "@/tests/support/lifecycle"
import { provide } from "@/tests/support/provide"

export default async function setup(): Promise<void> {
  if (process.getuid?.() !== 0) {
    throw new Error(
      "test:long -- restore makes a cluster of Debian's PostgreSQL, as docs/backup.md does: run it as root.",
    )
  }
  await provide("postgresql", "pgbackrest", "jq")
  await provideBuild()
}
