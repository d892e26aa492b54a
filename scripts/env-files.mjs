import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

/** Loads .env.local and .env as Next does: variables that are already set keep their values. */
export function loadEnvFiles() {
  for (const name of [".env.local", ".env"]) {
    const file = fileURLToPath(new URL(`../${name}`, import.meta.url))
    if (existsSync(file)) process.loadEnvFile(file)
  }
}
