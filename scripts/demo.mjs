import { install } from "./install.mjs"
import { chosenPort } from "./port.mjs"

const usage = `npm run demo [-- --reset]

Starts the whole application with its own PostgreSQL and a data set to look at. Data stays in .data between runs.

  --reset           begin with fresh data
  PORT=3001         another port than 3000
  HOST=0.0.0.0      for other machines too; the demo's passwords and keys are public
  SEED_USERS=2000   another number of accounts than 200, when the data is made`

const args = process.argv.slice(2)
const unknown = args.find((arg) => !["--reset", "--help", "-h"].includes(arg))
if (unknown) console.error(`Unknown option ${unknown}\n`)
if (unknown || args.includes("--help") || args.includes("-h")) {
  console.log(usage)
  process.exit(unknown ? 1 : 0)
}

const port = await chosenPort("demo")
install()
// TypeScript from here on, in this process: whatever ends it ends the demo.
const { register } = await import("tsx/esm/api")
register()
const { startDemo } = await import("./demo.ts")
await startDemo({ port, reset: args.includes("--reset") })
