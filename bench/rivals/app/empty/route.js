/** The least that Next can do for a request. */
export const GET = () => new Response(null, { status: 204 })
