import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import type { NextConfig } from "next"
import { maxFormBytes, maxUploadBytes } from "./lib/platform/http/body-limits"

// By default each build has other ids of server actions, so that forms of a page from one build fail at another one, for
// half of the people while two builds serve side by side. It encrypts nothing: the linter refuses actions inside functions.
process.env.NEXT_SERVER_ACTIONS_ENCRYPTION_KEY ??= createHash("sha256").update("server actions").digest("base64")

/** The headers of pages and files; proxy.ts adds headers that differ per request. The API sets its own headers. */
const pageHeaders = [
  { key: "X-Content-Type-Options", value: "nosniff" },
  // With "no-referrer" browsers would send `Origin: null` with our forms, which actions refuse.
  { key: "Referrer-Policy", value: "same-origin" },
  { key: "X-Frame-Options", value: "DENY" },
  { key: "Cross-Origin-Opener-Policy", value: "same-origin" },
  { key: "Permissions-Policy", value: "camera=(), geolocation=(), microphone=(), payment=(), usb=()" },
]

const config: NextConfig = {
  poweredByHeader: false,
  // A redirect would hide that the API has no such path; pages work with either form.
  skipTrailingSlashRedirect: true,
  images: { unoptimized: true },
  // Every browser gets the title before the page, because streamed metadata leaves a page without one while it refreshes.
  htmlLimitedBots: /./,
  // The font is preloaded by the HTML instead of a header, so that kept documents have it: lib/platform/http/documents.ts.
  reactMaxHeadersLength: 0,
  // /readyz compares the database with these migrations: see lib/platform/postgres/readiness.ts.
  outputFileTracingIncludes: { "/readyz": ["./prisma/migrations/**"] },
  // Loaded once per process instead of once per bundle.
  serverExternalPackages: ["prom-client", "@opentelemetry/sdk-trace-node", "@opentelemetry/exporter-trace-otlp-proto"],
  experimental: {
    authInterrupts: true,
    // Under Next alone, the limit of a body without a length; our listener counts it: see server/bodies.ts.
    proxyClientMaxBodySize: maxUploadBytes,
    serverActions: { bodySizeLimit: maxFormBytes },
    // Writing the cache takes the first build 20 seconds, and a build that is never repeated does not need it.
    turbopackFileSystemCacheForBuild: existsSync(".next/BUILD_ID"),
  },
  // The demo and the tests do not wait for types: `npm run check` checks them.
  typescript: { ignoreBuildErrors: process.env.TYPES_CHECKED === "1" },
  // This would print the arguments of actions, including passwords, to the developer's terminal.
  logging: { serverFunctions: false },
  // Browsers request these where no page names the icons, such as with JSON.
  rewrites: async () => [
    { source: "/favicon.ico", destination: "/icon" },
    { source: "/apple-touch-icon:of(-precomposed)?.png", destination: "/apple-icon" },
  ],
  headers: async () => [
    { source: "/((?!api/|mcp/).*)", headers: pageHeaders },
    { source: "/api/auth/:path*", headers: pageHeaders },
  ],
}

export default config
