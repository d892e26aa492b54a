/** The actions in the audit log that your product adds, as `noun.done`, with the sentences that describe them. */
export const actions = {} as const satisfies Readonly<Record<`${string}.${string}`, string>>

/** Further types of targets, as in lib/audit/entries.ts. */
export const targets = [] as const satisfies readonly string[]

/** Who reads each detail of these entries: see auditDetails in lib/leaving/personal-data.ts. */
export const details: Readonly<Record<string, "everyone" | "owner">> = {}
