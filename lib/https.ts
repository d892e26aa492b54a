import { env } from "./env"

/** Whether browsers reach this service over TLS, by its public address: what a request came through says nothing. */
export function isHttps(): boolean {
  return env().BASE_URL.startsWith("https:")
}

/** Two years, as browsers' preload lists ask (RFC 6797; ASVS 5 3.4.1). Over http browsers ignore it, so it is not sent. */
export function transportSecurity(): Record<string, string> {
  return isHttps() ? { "Strict-Transport-Security": "max-age=63072000; includeSubDomains" } : {}
}
