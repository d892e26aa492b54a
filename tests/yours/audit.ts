import type { OwnerId } from "@/lib/authority/owner"
import type { actions } from "@/lib/yours/audit"

/** Causes an entry of each action of lib/yours/audit.ts: see lib/audit/entries.test.ts. */
export const acts: { [Action in keyof typeof actions]: (owner: OwnerId) => Promise<unknown> } = {}
