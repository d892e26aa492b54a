import { z } from "zod"

export const waitlistSource = z.string().regex(/^[a-z][a-z0-9_-]{0,63}$/, "must be a source's name, like landing")
