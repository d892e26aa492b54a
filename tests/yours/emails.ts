import type { templates } from "@/lib/yours/emails"

/** Facts for each of your emails; each text is hostile. See lib/platform/email/templates.test.ts. */
export const facts: { [Name in keyof typeof templates]: Parameters<(typeof templates)[Name]> } = {}
