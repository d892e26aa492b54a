/** Next's minimum cost of a request with a JSON response. */
export const GET = () => Response.json({ ok: true })
