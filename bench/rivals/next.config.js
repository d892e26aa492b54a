/** @type {import("next").NextConfig} */
export default {
  // Where nothing looks that reads the project's sources.
  distDir: "node_modules/.next",
  // Next would take the product's for a part of this.
  turbopack: { root: import.meta.dirname },
}
