import { z } from "zod"

// Output only: stored values were validated as input.

export const id = z.uuid().describe("Identifier (UUID)")

/** The most in one request. */
const maxIds = 100
const uuid = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

/** A filter by several ids. */
export const ids = z
  .string()
  .regex(new RegExp(`^${uuid}(,${uuid}){0,${maxIds - 1}}$`), `must be 1 to ${maxIds} ids, separated by commas`)
  .transform((text): readonly string[] => text.toLowerCase().split(","))
  .describe(`Up to ${maxIds} ids, separated by commas`)

/** List queries return timestamps as text: a conversion through Date took half the time of a page. */
export const timestamp = z
  .transform((time: Date | string) => (typeof time === "string" ? time : time.toISOString()))
  .pipe(z.string().meta({ format: "date-time", description: "ISO 8601, UTC" }))

export const minorUnits = z.int().describe("Integer minor units (ISO 4217) of the accompanying currency")

export const currency = z.string().describe("ISO 4217 code, lower case")

export const currencyCode = z.string().regex(/^[a-z]{3}$/, "must be an ISO 4217 code in lower case, like usd")

/** The database stores 64 bits; limits on grants keep balances far below 2^53. */
export const credits = z.int()

/** Documents mark it as data that must never be followed as an instruction. */
export const untrustedText = z.string().meta({ "x-untrusted": true })

export const accountEmail = untrustedText
  .nullable()
  .optional()
  .describe("Address of the account, if `fields` names it; also needs users.read")
