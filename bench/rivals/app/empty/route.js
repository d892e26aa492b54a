/** The least that Next can do for a request. */
export const GET = () => new Response(null, { status: 204 })

// Without this it would be answered once, when the application is built.
export const dynamic = "force-dynamic"
