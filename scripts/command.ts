import { type Command, exitCodeOf } from "./command-line"

/** The commands of the image: `docker run IMAGE migrate`. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  migrate: async () => (await import("./migrate")).migrateCommand,
  "repair-times": async () => (await import("./repair-times")).repairTimesCommand,
  sweep: async () => (await import("./sweep")).sweep,
  seed: async () => (await import("./seed")).seedCommand,
  "after-restore": async () => (await import("./after-restore")).afterRestoreCommand,
  "audit:verify": async () => (await import("./audit-verify")).verifyAudit,
  "billing:reconcile": async () => (await import("./billing-reconcile")).billingReconcile,
  "user:role": async () => (await import("./user-role")).setRole,
  "user:password": async () => (await import("./user-password")).renewPassword,
  "user:factors": async () => (await import("./user-factors")).removeFactors,
}

/** These run when they are imported, and `serve` until it is stopped. */
const servers: Readonly<Record<string, () => Promise<unknown>>> = {
  serve: () => import("@/server/main"),
  health: () => import("@/server/health"),
}

const [node = "", script = "", name = "serve", ...args] = process.argv
const isServer = Object.hasOwn(servers, name)
if (!isServer && !Object.hasOwn(commands, name)) {
  const names = Object.keys({ ...servers, ...commands }).join(", ")
  console.error(`There is no command ${name}. The commands are: ${names}.`)
  process.exit(1)
}
// The processes of WEB_CONCURRENCY are started with the same arguments: none is `serve`.
process.argv = [node, script, ...args]
// Process 1 of a container ignores signals without a handler. The server has its own.
if (name !== "serve") {
  process.once("SIGINT", () => process.exit(130))
  process.once("SIGTERM", () => process.exit(143))
}
const command: Command = async (args, output) => {
  const found = await commands[name]?.()
  if (found) return found(args, output)
  await servers[name]?.()
  return 0
}
const code = await exitCodeOf(command, args, console)
if (!isServer || code > 0) process.exit(code)
