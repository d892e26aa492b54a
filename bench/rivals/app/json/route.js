/** The least that Next can do for a request that is answered with JSON, as the product's are. */
export const GET = () => Response.json({ ok: true })
