import type { Pool } from "pg"

/**
 * Override the server, the database and the role. Prisma writes and reads times without their offset, and in ISO
 * format; statements are made for READ COMMITTED.
 */
export const settings = {
  TimeZone: "UTC",
  DateStyle: "ISO",
  default_transaction_isolation: "read committed",
} as const

export function withSettings(url: string): string {
  const [address = "", query] = url.split("?")
  const parameters = new URLSearchParams(query)
  const given = parameters.get("options") ?? process.env.PGOPTIONS ?? ""
  const own = Object.entries(settings).map(([name, value]) => `-c ${name}=${value.replaceAll(" ", "\\ ")}`)
  // Of two values of a setting, the last one counts.
  parameters.set("options", [given, ...own].join(" ").trim())
  return `${address}?${parameters}`
}

const accepted: Record<keyof typeof settings, RegExp> = {
  TimeZone: /^(Etc\/)?(UTC|UCT|GMT|GMT[+-]?0|Greenwich|Universal|Zulu)$/i,
  DateStyle: /^ISO\b/,
  default_transaction_isolation: /^read committed$/,
}

export function isUtc(zone: string): boolean {
  return accepted.TimeZone.test(zone)
}

/** A pooler can leave the settings out. */
export async function refusalBySettings(database: Pick<Pool, "query">): Promise<string | undefined> {
  const names = Object.keys(settings) as (keyof typeof settings)[]
  const columns = names.map((name) => `current_setting('${name}') AS "${name}"`)
  const { rows } = await database.query<typeof settings>(`SELECT ${columns.join(", ")}`)
  const wrong = names.filter((name) => !accepted[name].test(rows[0]?.[name] ?? ""))
  if (wrong.length === 0) return undefined
  const found = wrong.map((name) => `${name} is ${rows[0]?.[name]} and not ${settings[name]}`)
  return `sessions of the database have other settings: ${found.join(", ")}. A pooler left out the startup parameter "options": db:migrate sets them on the role.`
}
