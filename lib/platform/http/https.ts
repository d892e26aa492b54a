import { env } from "@/lib/env"

/** By BASE_URL, because a proxy may forward requests without TLS. */
export function isHttps(): boolean {
  return env().BASE_URL.startsWith("https:")
}

/** Two years, as preload lists require (RFC 6797; ASVS 5 3.4.1). Not sent over http, where browsers ignore it. */
export function transportSecurity(): Record<string, string> {
  return isHttps() ? { "Strict-Transport-Security": "max-age=63072000; includeSubDomains" } : {}
}
