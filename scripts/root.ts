import { resolve } from "node:path"

/** The project's directory. */
export const root = resolve(import.meta.dirname, "..")
