import { auth } from "../../auth.js"

/** Does the same as GET /api/v1/me: checks the key, applies its rate limit and returns its owner. */
export async function GET(request) {
  const key = request.headers.get("x-api-key")
  const checked = key ? await auth().api.verifyApiKey({ body: { key } }) : { valid: false }
  if (!checked.valid) return Response.json({ error: checked.error }, { status: 401 })
  const { internalAdapter } = await auth().$context
  const { id, email, name } = await internalAdapter.findUserById(checked.key.referenceId)
  return Response.json({ data: { id, email, name } })
}
