import { resolve } from "node:path"

/** @type {import("next").NextConfig} */
export default {
  // Where nothing looks that reads the project's sources.
  distDir: "node_modules/.next",
  // Next itself stands there.
  turbopack: { root: resolve(import.meta.dirname, "../..") },
}
