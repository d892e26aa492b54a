import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config"

/** In the mode `everywhere`, faults meet every endpoint and both listeners. */
const suitesIn = (mode: string) =>
  [
    { name: "lean", include: ["app/api/v1/contract.test.ts"], provide: { listener: "lean" } },
    { name: "next", include: ["app/api/v1/contract.test.ts"], provide: { listener: "next" } },
    { name: "both", include: ["server/both.ts"] },
    { name: "raw", include: ["server/raw.ts"] },
    { name: "hostile", include: ["server/hostile.ts"] },
    { name: "fuzz", include: ["server/fuzz.ts"] },
    { name: "process", include: ["server/process.ts"] },
    { name: "operation", include: ["server/operation.ts"] },
    { name: "scale", include: ["server/scale.ts"] },
    { name: "matrix", include: ["server/matrix.ts", "server/markers.ts"] },
    { name: "entrance", include: ["server/entrance.ts"] },
    { name: "leaks", include: ["server/leaks.ts"] },
    { name: "faults", include: ["server/faults.ts"], provide: { everywhere: mode === "everywhere" } },
  ] satisfies TestProjectInlineConfiguration["test"][]

// A suite of its own, which needs the build: the promises of the API over HTTP, from either listener; the two of them
// compared byte for byte; what they answer to bare connections, to hostile clients and to chance; how processes begin and
// end, and what becomes of them while a dependency fails; two instances on one database and one Redis; who may what, and
// what nobody gets to see.
export default defineConfig(({ mode }) => ({
  test: {
    globalSetup: "scripts/test-database.ts",
    // Most of the time they wait for a server, or for a fault to show.
    maxWorkers: 2,
    projects: suitesIn(mode).map((suite) => ({
      resolve: { tsconfigPaths: true },
      test: {
        ...suite,
        setupFiles: "scripts/test-worker.ts",
        pool: "forks",
        testTimeout: 60_000,
        hookTimeout: 120_000,
      },
    })),
  },
}))
