import { existsSync } from "node:fs"
import { join } from "node:path"
import { root } from "@/scripts/root"

/** Whether a page exists: the folders of an optional module may have been deleted. */
export function isPresent(path: string): boolean {
  return existsSync(join(root, "app", path, "page.tsx"))
}
