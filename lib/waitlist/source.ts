import { z } from "zod"

/** The source in a link to the form: `?source=blog`. */
export const waitlistSource = z.string().regex(/^[a-z][a-z0-9_-]{0,63}$/, "must be a source's name, like landing")
