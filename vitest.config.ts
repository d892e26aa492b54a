import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config"

const minute = 60_000

type Suite = NonNullable<TestProjectInlineConfiguration["test"]>

/** Each file runs against its own database, copied from a migrated template. */
const shared = {
  pool: "forks",
  setupFiles: "tests/support/worker.ts",
  restoreMocks: true,
  // Long enough for a busy machine; a condition that is met does not wait for it.
  expect: { poll: { timeout: minute / 3 } },
} satisfies Suite

/** Suites that need the build. */
const overHttp = {
  ...shared,
  globalSetup: "tests/support/setup/http.ts",
  // For a busy machine, on which servers take long to start; a test that hangs still fails.
  testTimeout: 2 * minute,
  hookTimeout: 2 * minute,
} satisfies Suite

const suites: Suite[] = [
  {
    ...shared,
    name: "unit",
    include: [
      // Not by `exclude`, which would replace the one that tests/run.ts passes.
      "{app,lib,prisma,scripts,components,server,tests/support}/**/!(http).test.{ts,tsx}",
      "tests/{container-files,documents,kubernetes,optional-modules,proxy,systemd-unit,version-floors,words}.test.ts",
    ],
    globalSetup: "tests/support/setup/unit.ts",
    // Two processes for all files instead of one for each, which would import everything again: see tests/support/worker.ts.
    isolate: false,
    // A request that waits for a busy machine does not fail; tests of this bound set the product's own.
    env: { DATABASE_WAIT_MS: "30000" },
    // For a busy machine; a test that hangs still fails.
    testTimeout: minute,
    hookTimeout: minute,
  },
  {
    ...overHttp,
    name: "http",
    include: ["tests/http/**/*.test.ts", "app/api/v1/contract.test.ts", "app/**/http.test.ts"],
    provide: { listener: "lean" },
    setupFiles: ["tests/support/worker.ts", "tests/support/servers-of-file.ts"],
    isolate: false,
  },
  { ...overHttp, name: "next-http", include: ["app/api/v1/contract.test.ts"], provide: { listener: "next" } },
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
    // Migrating a million rows would delay requests longer than a build of the last release waits.
    fileParallelism: false,
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
    ...overHttp,
    name: "replicas",
    include: ["tests/replicas/**/*.test.ts"],
    globalSetup: "tests/support/setup/replicas.ts",
  },
  {
    ...overHttp,
    name: "ha",
    include: ["tests/ha/**/*.test.ts"],
    globalSetup: "tests/support/setup/ha.ts",
    testTimeout: 5 * minute,
    // The failures meet one cluster, one after the other.
    bail: 1,
  },
  {
    ...shared,
    name: "image",
    include: ["tests/image/**/*.test.ts", "app/api/v1/contract.test.ts"],
    globalSetup: "tests/support/setup/image.ts",
    testTimeout: 2 * minute,
    hookTimeout: 2 * minute,
    provide: { listener: "image" },
  },
  {
    ...shared,
    name: "changed-copy",
    include: ["tests/{changed-copy,removal,rename,replace-work,tutorial,upstream}.test.ts"],
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
    tags: [{ name: "long", description: "runs in `npm run test:long`, not in `npm test`" }],
    // A missing example fails the test instead of being written: see app/api/v1/examples.test.ts.
    update: "none",
    projects: suites.map((test) => ({ resolve, test })),
  },
})
