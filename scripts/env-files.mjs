import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

/** Reads .env.local and .env as Next does: what is set already stays. */
export function loadEnvFiles() {
  for (const name of [".env.local", ".env"]) {
    const file = fileURLToPath(new URL(`../${name}`, import.meta.url))
    if (existsSync(file)) process.loadEnvFile(file)
  }
}
