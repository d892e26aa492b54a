import { install } from "../scripts/install.mjs"

install()
const { register } = await import("tsx/esm/api")
register()
const { testEverything } = await import("./run.ts")
await testEverything({ isLong: process.argv.includes("--long") })
