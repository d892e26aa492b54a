import { z } from "zod"

// The field types of published rows. They shape and describe what leaves; what is stored has been checked on its way in.

export const id = z.uuid().describe("Identifier (UUID)")

/** Lists read it from the database as it is published: half of what a page costs went into a Date and back. */
export const timestamp = z
  .transform((time: Date | string) => (typeof time === "string" ? time : time.toISOString()))
  .pipe(z.string().meta({ format: "date-time", description: "ISO 8601, UTC" }))

export const cents = z.int().describe("Integer cents of the currency beside it")

export const currency = z.string().describe("ISO 4217 code, lower case")

/** Whole credits, which the database keeps in 64 bits; what may be granted stays far below 2^53. */
export const credits = z.int()

/** Text that an outsider wrote: documents mark it as data that is never an instruction. */
export const untrustedText = z.string().meta({ "x-untrusted": true })
