import { readdirSync } from "node:fs"
import { join } from "node:path"
import { root } from "@/scripts/root"

/** The paths of all test files. */
export function testFiles(): string[] {
  return ["app", "components", "e2e", "lib", "prisma", "scripts", "tests"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => /\.(test|spec)\.tsx?$/.test(file) && !file.includes("node_modules"))
      .map((file) => `${folder}/${file}`),
  )
}
