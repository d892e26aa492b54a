import { defineConfig } from "vitest/config"

export default defineConfig({
  resolve: { tsconfigPaths: true },
  test: {
    include: ["{app,lib,prisma,scripts,components,server}/**/*.test.ts", "{app,components}/**/*.test.tsx"],
    globalSetup: "scripts/test-database.ts",
    // Half of the time they wait for the database.
    maxWorkers: 2,
    setupFiles: "scripts/test-worker.ts",
    // Each file runs in its own process against its own database, copied from a migrated template.
    pool: "forks",
    restoreMocks: true,
    // A missing example is an error, not a reason to write one: see app/api/v1/examples.test.ts.
    update: "none",
    // Password hashes take their time on a busy machine; a test that hangs is still told from one that waits.
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
