// In the suite `hostile` of tests/run.ts, databases have settings that would break sessions without the product's own.
const hostile = { timezone: "America/New_York", DateStyle: "German", default_transaction_isolation: "serializable" }

/** Flags of a server of PostgreSQL, which its databases have unless a session sets others. */
export const settingsOfTests = process.env.HOSTILE_SETTINGS
  ? Object.entries(hostile).flatMap(([name, value]) => ["-c", `${name}=${value}`])
  : []
