import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config"

/** The long forms cause every fault at every endpoint, send more requests and kill for longer: `npm run test:long`. */
const isLong = process.env.LONG === "1"

const minute = 60_000

type Suite = NonNullable<TestProjectInlineConfiguration["test"]>

/** Each file runs in its own process against its own database, copied from a migrated template. */
const shared = { pool: "forks", setupFiles: "tests/support/worker.ts", restoreMocks: true } satisfies Suite

/** What needs the build. */
const overHttp = {
  ...shared,
  globalSetup: "tests/support/setup/build.ts",
  testTimeout: minute,
  hookTimeout: 2 * minute,
} satisfies Suite

const suites: Suite[] = [
  {
    ...shared,
    name: "unit",
    include: ["{app,lib,prisma,scripts,components,tests/support}/**/*.test.{ts,tsx}", "tests/version-floors.test.ts"],
    globalSetup: "tests/support/setup/redis.ts",
    // Password hashes take their time on a busy machine; a test that hangs is still told from one that waits.
    testTimeout: minute / 2,
    hookTimeout: minute,
  },
  { ...overHttp, name: "http", include: ["tests/http/**/*.test.ts"] },
  { ...overHttp, name: "http-lean", include: ["app/api/v1/contract.test.ts"], provide: { listener: "lean" } },
  { ...overHttp, name: "http-next", include: ["app/api/v1/contract.test.ts"], provide: { listener: "next" } },
  {
    ...overHttp,
    name: "load",
    include: ["tests/load/**/*.test.ts"],
    testTimeout: 60 * minute,
  },
  {
    ...shared,
    name: "removal",
    include: ["tests/removal.test.ts"],
    // Each of these tests is a program that keeps a core busy.
    maxConcurrency: 2,
    testTimeout: 5 * minute,
    hookTimeout: 10 * minute,
  },
]

export default defineConfig({
  resolve: { tsconfigPaths: true },
  test: {
    globalSetup: "tests/support/database.ts",
    // Half of the time they wait for the database, a server or a fault.
    maxWorkers: 2,
    // A missing example is an error, not a reason to write one: see app/api/v1/examples.test.ts.
    update: "none",
    provide: { isLong },
    projects: suites.map((test) => ({ extends: true as const, test })),
  },
})
