/** The emails that your product adds, as in lib/platform/email/templates.ts. Their facts are texts, formatted already. */
export const templates = {}
