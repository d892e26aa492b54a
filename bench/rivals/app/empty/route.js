/** Next's minimum cost of a request. */
export const GET = () => new Response(null, { status: 204 })
