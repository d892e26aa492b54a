/** The emails that your product adds, as in lib/platform/email/templates.ts. */
export const templates = {}
