/** The emails that your product adds, as in lib/platform/email/templates.ts. Their facts are texts that are ready to send. */
export const templates = {}
