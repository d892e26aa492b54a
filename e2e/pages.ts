import { existsSync } from "node:fs"
import { join } from "node:path"
import { root } from "@/scripts/root"

/** Whether a page is part of this product: an optional module may have been taken out, its folders deleted. */
export function isPresent(path: string): boolean {
  return existsSync(join(root, "app", path, "page.tsx"))
}
