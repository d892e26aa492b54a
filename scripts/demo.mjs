import { install } from "./install.mjs"
import { chosenPort } from "./port.mjs"

const usage = `npm run demo [-- --reset]

Starts the application with its own PostgreSQL and sample data. Data is kept in .data between runs.

  --reset           start with new data
  PORT=3001         listen on this port instead of 3000
  HOST=0.0.0.0      accept connections from other machines; the demo's passwords and keys are public
  SEED_USERS=2000   create this number of accounts instead of 200`

const args = process.argv.slice(2)
const unknown = args.find((arg) => !["--reset", "--help", "-h"].includes(arg))
if (unknown) console.error(`Unknown option ${unknown}\n`)
if (unknown || args.includes("--help") || args.includes("-h")) {
  console.log(usage)
  process.exit(unknown ? 1 : 0)
}

const port = await chosenPort("demo")
install()
// Loads TypeScript in this process, so that stopping this process stops the demo.
const { register } = await import("tsx/esm/api")
register()
const { startDemo } = await import("./demo.ts")
await startDemo({ port, reset: args.includes("--reset") })
