import { auth } from "../../auth.js"

/** What GET /api/v1/me does: checks the key, counts it against its limit, answers with its owner. */
export async function GET(request) {
  const key = request.headers.get("x-api-key")
  const checked = key ? await auth().api.verifyApiKey({ body: { key } }) : { valid: false }
  if (!checked.valid) return Response.json({ error: checked.error }, { status: 401 })
  const { internalAdapter } = await auth().$context
  const { id, email, name } = await internalAdapter.findUserById(checked.key.referenceId)
  return Response.json({ data: { id, email, name } })
}
