import { install } from "../scripts/install.mjs"

const installedSince = performance.now()
install()
const { register } = await import("tsx/esm/api")
register()
const [mode, ...parts] = process.argv.slice(2)
if (mode === "--changed") {
  const { testChanges } = await import("./changed.ts")
  await testChanges()
} else {
  const { runTests } = await import("./run.ts")
  await runTests({ isLong: mode === "--long", parts, installedSince })
}
