import type { NextConfig } from "next"

/** For pages and files; proxy.ts adds what differs by request. The API's edge sets its own headers on every answer. */
const pageHeaders = [
  { key: "X-Content-Type-Options", value: "nosniff" },
  // "no-referrer" would make browsers send `Origin: null` with our forms, which actions refuse.
  { key: "Referrer-Policy", value: "same-origin" },
  { key: "X-Frame-Options", value: "DENY" },
  { key: "Cross-Origin-Opener-Policy", value: "same-origin" },
  { key: "Permissions-Policy", value: "camera=(), geolocation=(), microphone=(), payment=(), usb=()" },
]

const config: NextConfig = {
  poweredByHeader: false,
  // A redirect would hide that /api/… has no such path; pages do not care.
  skipTrailingSlashRedirect: true,
  images: { unoptimized: true },
  // What the code's database has to look like: see lib/postgres/readiness.ts.
  outputFileTracingIncludes: { "/readyz": ["./prisma/migrations/**"] },
  // Loaded once in a process, however many bundles ask for them.
  serverExternalPackages: ["prom-client", "@opentelemetry/sdk-trace-node", "@opentelemetry/exporter-trace-otlp-proto"],
  experimental: { authInterrupts: true },
  // Would write what actions are called with, passwords too, to the developer's terminal.
  logging: { serverFunctions: false },
  headers: async () => [
    { source: "/((?!api/).*)", headers: pageHeaders },
    { source: "/api/auth/:path*", headers: pageHeaders },
  ],
}

export default config
