/** SQLSTATE classes and codes of temporary errors (PostgreSQL manual, appendix A). */
const temporarySqlStates = [
  /^08/, // connection exceptions
  /^28/, // a role or password that is refused, as between the two steps of changing it
  /^3D000$/, // no such database, as during a restore
  /^53/, // insufficient resources: too many connections, disk full
  /^57P0/, // shutting down, crashed, not yet started
  /^57014$/, // statement timeout
  /^55P03$/, // lock timeout
  /^40001$|^40P01$/, // serialization failure, deadlock
  /^25006$/, // read-only transaction
  /^25P03$/, // the server did not go on with its transaction in time
]
const temporaryNodeCodes = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/
// A certificate that is being replaced, or whose authority is not known here (Node.js, TLS errors).
const certificateCodes = /^(CERT_|ERR_TLS_CERT_|HOSTNAME_MISMATCH$|UNABLE_TO_)|SELF_SIGNED_CERT/
const temporaryPrismaCodes = /^(P1001|P1002|P1008|P1017|P2024|P2028|P2034)$/
// The driver adapter's names for errors of the socket.
const temporaryKinds = /^(ConnectionClosed|DatabaseNotReachable|SocketTimeout|TlsConnectionError)$/
// pg and pg-pool throw these without a code.
const temporaryMessages =
  /timeout exceeded when trying to connect|Query read timeout|Connection terminated|Client has encountered a connection error|Cannot use a pool after calling end|not currently accepting connections|does not support SSL connections/

/** Unreachable, overloaded or too slow: 503 instead of 500. */
export function isDatabaseUnavailable(error: unknown, depth = 0): boolean {
  if (typeof error !== "object" || error === null || depth > 5) return false
  const { code, originalCode, kind, message, cause, errors, meta } = error as Record<string, unknown>
  const codes = [code, originalCode].filter((value) => typeof value === "string")
  if (codes.some((value) => temporarySqlStates.some((pattern) => pattern.test(value)))) return true
  if (codes.some((value) => temporaryNodeCodes.test(value) || temporaryPrismaCodes.test(value))) return true
  if (codes.some((value) => certificateCodes.test(value))) return true
  if (typeof kind === "string" && temporaryKinds.test(kind)) return true
  if (typeof message === "string" && temporaryMessages.test(message)) return true
  const driverError = (meta as { driverAdapterError?: unknown } | undefined)?.driverAdapterError
  return [cause, driverError, ...(Array.isArray(errors) ? errors : [])].some((inner) =>
    isDatabaseUnavailable(inner, depth + 1),
  )
}

export function isUniqueViolation(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === "P2002" || code === "23505"
}
