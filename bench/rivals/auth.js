import { apiKey } from "@better-auth/api-key"
import { betterAuth } from "better-auth"
import pg from "pg"

let made

/** better-auth as its documentation sets it up, with as many connections as the product. */
export function auth() {
  made ??= betterAuth({
    database: new pg.Pool({ connectionString: process.env.DATABASE_URL, max: Number(process.env.DATABASE_POOL_MAX) }),
    secret: process.env.AUTH_SECRET,
    baseURL: "http://localhost",
    telemetry: { enabled: false },
    // Counted on every call, and high enough that none is refused.
    plugins: [apiKey({ rateLimit: { enabled: true, timeWindow: 60_000, maxRequests: 1_000_000 } })],
  })
  return made
}
