import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config"

/** Long runs inject every fault at every endpoint, send more requests and kill more processes: `npm run test:long`. */
const isLong = process.env.LONG === "1"

const minute = 60_000

type Suite = NonNullable<TestProjectInlineConfiguration["test"]>

/** Each file runs in its own process against its own database, copied from a migrated template. */
const shared = {
  pool: "forks",
  setupFiles: "tests/support/worker.ts",
  restoreMocks: true,
  // Long enough for a busy machine; a condition that is met does not wait for it.
  expect: { poll: { timeout: minute / 3 } },
  provide: { isLong },
} satisfies Suite

/** Suites that need the build. */
const overHttp = {
  ...shared,
  globalSetup: "tests/support/setup/http.ts",
  testTimeout: minute,
  hookTimeout: 2 * minute,
} satisfies Suite

const suites: Suite[] = [
  {
    ...shared,
    name: "unit",
    include: [
      "{app,lib,prisma,scripts,components,tests/support}/**/*.test.{ts,tsx}",
      "tests/{container-files,documents,kubernetes,systemd-unit,version-floors,words}.test.ts",
    ],
    globalSetup: "tests/support/setup/unit.ts",
    // Password hashes are slow on a busy machine; a test that hangs still fails.
    testTimeout: minute / 2,
    hookTimeout: minute,
  },
  { ...overHttp, name: "http", include: ["tests/http/**/*.test.ts"] },
  { ...overHttp, name: "http-lean", include: ["app/api/v1/contract.test.ts"], provide: { isLong, listener: "lean" } },
  { ...overHttp, name: "next-http", include: ["app/api/v1/contract.test.ts"], provide: { isLong, listener: "next" } },
  {
    ...overHttp,
    name: "load",
    include: ["tests/load/**/*.test.ts"],
    testTimeout: 60 * minute,
  },
  {
    ...overHttp,
    name: "alerts",
    include: ["tests/alerts/**/*.test.ts"],
    globalSetup: "tests/support/setup/alerts.ts",
    testTimeout: 6 * minute,
  },
  {
    ...overHttp,
    name: "upgrade",
    include: ["tests/upgrade/**/*.test.ts"],
    globalSetup: "tests/support/setup/upgrade.ts",
    testTimeout: 30 * minute,
  },
  {
    ...overHttp,
    name: "restore",
    include: ["tests/restore/**/*.test.ts"],
    globalSetup: "tests/support/setup/restore.ts",
    testTimeout: 5 * minute,
    // The tests are the steps of one rehearsal.
    bail: 1,
  },
  {
    ...shared,
    name: "image",
    include: ["tests/image/**/*.test.ts", "app/api/v1/contract.test.ts"],
    globalSetup: "tests/support/setup/image.ts",
    testTimeout: minute,
    hookTimeout: 2 * minute,
    provide: { isLong, listener: "image" },
  },
  {
    ...shared,
    name: "changed-copy",
    include: ["tests/{removal,rename,replace-work}.test.ts"],
    globalSetup: "tests/support/setup/changed-copy.ts",
    testTimeout: 5 * minute,
    hookTimeout: 10 * minute,
  },
]

const resolve = { tsconfigPaths: true }

export default defineConfig({
  resolve,
  test: {
    globalSetup: "tests/support/database.ts",
    // Tests spend half of their time waiting for the database, a server or a fault.
    maxWorkers: 2,
    // A missing example fails the test instead of being written: see app/api/v1/examples.test.ts.
    update: "none",
    projects: suites.map((test) => ({ resolve, test })),
  },
})
