import { defineConfig } from "vitest/config"

// A suite of its own, which copies, builds and serves the product: `npm test` runs it last.
export default defineConfig({
  resolve: { tsconfigPaths: true },
  test: {
    include: ["scripts/removal.ts"],
    globalSetup: "scripts/test-database.ts",
    setupFiles: "scripts/test-worker.ts",
    pool: "forks",
    // Each of these tests is a program that keeps a core busy.
    maxConcurrency: 2,
    testTimeout: 300_000,
    hookTimeout: 600_000,
  },
})
