import { readFile } from "node:fs/promises"
import { expect } from "@playwright/test"

/** The letters that went to an address so far, oldest first. */
export async function emailsTo(email: string): Promise<string[]> {
  const lines = await readFile(String(process.env.E2E_MAIL_FILE), "utf8").catch(() => "")
  const emails = lines
    .split("\n")
    .filter(Boolean)
    .map((line): string => JSON.parse(line))
  return emails.filter((message) => message.includes(`\nTo: ${email}\r\n`))
}

/** Waits for as many letters to an address, for they are sent after the answer; the last of them. */
export async function emailTo(email: string, count: number): Promise<string> {
  await expect.poll(async () => (await emailsTo(email)).length).toBe(count)
  return (await emailsTo(email)).at(-1) ?? ""
}
