import { defineConfig } from "vitest/config"
import config from "./vitest.config"

// Copies, builds and serves the product: a suite of its own, which `npm test` runs after the others.
export default defineConfig({
  ...config,
  // Each of these tests is a program that keeps a core busy.
  test: { ...config.test, include: ["scripts/removal.ts"], maxConcurrency: 2 },
})
