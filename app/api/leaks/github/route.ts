import { z } from "zod"
import { parseBody, readBytes } from "@/lib/api/body"
import { refuseAs } from "@/lib/api/errors"
import { handleEach } from "@/lib/api/methods"
import { respond } from "@/lib/api/respond"
import { ours, said } from "@/lib/api/said"
import { hashSecret } from "@/lib/keys/secret"
import { findGithubKey, isSigned } from "@/lib/leaks/github"
import { isReportRefused, issuedAmong, reportLeaks } from "@/lib/leaks/revocation"
import { databaseDeadline } from "@/lib/platform/postgres/deadline"
import { isOverloaded, overloaded } from "@/lib/platform/postgres/load-shedding"
import { countReport } from "../count-report"

/** One message contains all matches of a commit. */
const maxAlertBytes = 1024 * 1024

/** GitHub may add fields. */
const alerts = z.array(z.object({ token: z.string(), type: z.string() }))

/** Only GitHub's signature gets the response that says which keys exist. */
export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = handleEach("POST", "POST, OPTIONS", (request) =>
  respond(request, async () => {
    if (isOverloaded()) refuseAs("service_unavailable", ours(overloaded.message), overloaded.headers)
    await countReport("signedReportsAddress", request.headers)
    const found = parseBody(await readSigned(request), alerts)
    const tokens = found.map(({ token }) => token)
    const issued = new Set(await databaseDeadline()(() => issuedAmong(tokens)))
    if (isReportRefused()) refuseAs("service_unavailable", ours(overloaded.message), overloaded.headers)
    await reportLeaks([...issued])
    return JSON.stringify(
      found.map(({ token, type }) => ({
        token_hash: hashSecret(token).toString("hex"),
        token_type: type,
        label: issued.has(token) ? "true_positive" : "false_positive",
      })),
    )
  }),
)

/** Reads the body only if the request names one of GitHub's keys. @throws Refusal 400, 403, 413 or 503 */
async function readSigned(request: Request): Promise<Buffer> {
  const identifier = request.headers.get("github-public-key-identifier") ?? ""
  const signature = request.headers.get("github-public-key-signature") ?? ""
  const key = /^[0-9a-f]{64}$/.test(identifier) ? await findGithubKey(identifier) : undefined
  if (key === "unavailable") {
    const message = said`GitHub's public keys could not be read. Try again in a minute.`
    return refuseAs("service_unavailable", message, { "Retry-After": "60" })
  }
  if (!key) return refuseSignature()
  const bytes = await readBytes(request, maxAlertBytes)
  return isSigned(bytes, signature, key) ? bytes : refuseSignature()
}

function refuseSignature(): never {
  return refuseAs(
    "invalid_signature",
    said`Only GitHub's secret scanning can call this, with its signature. Anybody can report leaked keys to /api/leaks.`,
  )
}
