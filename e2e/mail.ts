import { readFile } from "node:fs/promises"
import { expect } from "@playwright/test"

/** The letters that went to an address so far, oldest first. */
export async function lettersTo(email: string): Promise<string[]> {
  const lines = await readFile(String(process.env.E2E_MAIL_FILE), "utf8").catch(() => "")
  const letters = lines
    .split("\n")
    .filter(Boolean)
    .map((line): string => JSON.parse(line))
  return letters.filter((letter) => letter.includes(`\nTo: ${email}\r\n`))
}

/** Waits for as many letters to an address, for they are sent after the answer; the last of them. */
export async function letterTo(email: string, count: number): Promise<string> {
  await expect.poll(async () => (await lettersTo(email)).length).toBe(count)
  return (await lettersTo(email)).at(-1) ?? ""
}
