/**
 * What the image can run: `docker run IMAGE migrate`. Each command is a script that runs when it is imported, or
 * exports what runs it, and reads its arguments from `process.argv`.
 */
const commands: Readonly<Record<string, () => Promise<unknown>>> = {
  serve: () => import("@/server/main"),
  health: () => import("@/server/health"),
  migrate: async () => (await import("./migrate")).migrateByEnvironment(),
  sweep: () => import("./sweep"),
  seed: () => import("./seed"),
  "after-restore": () => import("./after-restore"),
  "audit:verify": () => import("./audit-verify"),
  "user:role": () => import("./user-role"),
  "user:password": () => import("./user-password"),
  "user:factors": () => import("./user-factors"),
}

const [node = "", script = "", name = "serve", ...args] = process.argv
const command = Object.hasOwn(commands, name) ? commands[name] : undefined
if (!command) {
  console.error(`There is no command ${name}. The commands are: ${Object.keys(commands).join(", ")}.`)
  process.exit(1)
}
// The processes of WEB_CONCURRENCY are started with the same arguments: none is `serve`.
process.argv = [node, script, ...args]
// Process 1 of a container ignores signals without a handler. The server has its own.
if (name !== "serve") {
  process.once("SIGINT", () => process.exit(130))
  process.once("SIGTERM", () => process.exit(143))
}
try {
  await command()
} catch (error) {
  console.error(messageOf(error))
  process.exit(1)
}

/** Of several addresses that were tried, the error is one without a message. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("\n")
  return error instanceof Error ? error.message : String(error)
}

// Without an import or export it would be no module.
export {}
