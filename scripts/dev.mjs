import { loadEnvFiles } from "./env-files.mjs"
import { install } from "./install.mjs"
import { chosenPort } from "./port.mjs"

loadEnvFiles()
const port = await chosenPort("dev")
install()
const { register } = await import("tsx/esm/api")
register()
const { startDevelopment } = await import("./dev.ts")
await startDevelopment(port)
