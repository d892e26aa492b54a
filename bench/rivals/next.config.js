/** @type {import("next").NextConfig} */
export default {
  // Inside node_modules, which tools that scan the project's sources skip.
  distDir: "node_modules/.next",
  // Without this, Next would infer the product's directory as the root, because it has a lockfile too.
  turbopack: { root: import.meta.dirname },
}
