import { readFile } from "node:fs/promises"
import { expect } from "@playwright/test"

/** The emails sent to an address so far, oldest first. */
export async function emailsTo(email: string): Promise<string[]> {
  const lines = await readFile(String(process.env.E2E_MAIL_FILE), "utf8").catch(() => "")
  const emails = lines
    .split("\n")
    .filter(Boolean)
    .map((line): string => JSON.parse(line))
  return emails.filter((message) => message.includes(`\nTo: ${email}\r\n`))
}

/** Waits for `count` emails to an address, which are sent after the response, and returns the last one. */
export async function emailTo(email: string, count: number): Promise<string> {
  await expect.poll(async () => (await emailsTo(email)).length).toBe(count)
  return (await emailsTo(email)).at(-1) ?? ""
}
