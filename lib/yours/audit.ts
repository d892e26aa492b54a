/** What your product writes to the audit log, as `noun.done`. */
export const actions = [] as const satisfies readonly `${string}.${string}`[]

/** The types of what is acted on, beyond those of lib/audit/entries.ts. */
export const targets = [] as const satisfies readonly string[]

/** Who reads each detail of these entries: see auditDetails in lib/leaving/personal-data.ts. */
export const details: Readonly<Record<string, "everyone" | "owner">> = {}
