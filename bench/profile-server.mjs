import { writeFileSync } from "node:fs"
import { Session } from "node:inspector"

// Preloaded into a server: writes a CPU profile to the file CPU_PROFILE when the server exits.

const session = new Session()
session.connect()
session.post("Profiler.enable")
session.post("Profiler.start")
process.once("exit", () => {
  session.post("Profiler.stop", (error, { profile }) => {
    if (error) throw error
    writeFileSync(process.env.CPU_PROFILE, JSON.stringify(profile))
  })
})
