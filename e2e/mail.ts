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

/** Waits for `count` emails to an address with the text, and returns the last. They are sent after the response. */
export async function emailTo(email: string, text: string, count = 1): Promise<string> {
  const found = async () => (await emailsTo(email)).filter((message) => message.includes(text))
  await expect.poll(async () => (await found()).length).toBe(count)
  return (await found()).at(-1) ?? ""
}
