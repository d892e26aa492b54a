import { install } from "./install.mjs"

install()
const { register } = await import("tsx/esm/api")
register()
const { testEverything } = await import("./test.ts")
await testEverything()
