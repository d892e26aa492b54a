import { apiKey } from "@better-auth/api-key"
import { betterAuth } from "better-auth"
import pg from "pg"

let instance

/** better-auth configured as in its documentation, with the same number of database connections as the product. */
export function auth() {
  instance ??= betterAuth({
    database: new pg.Pool({ connectionString: process.env.DATABASE_URL, max: Number(process.env.DATABASE_POOL_MAX) }),
    secret: process.env.AUTH_SECRET,
    baseURL: "http://localhost",
    telemetry: { enabled: false },
    // Every call is counted, and the limit is high enough that none is refused.
    plugins: [apiKey({ rateLimit: { enabled: true, timeWindow: 60_000, maxRequests: 1_000_000 } })],
  })
  return instance
}
