import type { FormCase } from "@/tests/http/access/forms"

/** A successful call of each of your actions: see tests/http/access/forms.ts. */
export const forms: Record<string, FormCase> = {}
