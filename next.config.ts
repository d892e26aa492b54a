import type { NextConfig } from "next"

const config: NextConfig = {
  poweredByHeader: false,
  // A redirect would hide that /api/… has no such path; pages do not care.
  skipTrailingSlashRedirect: true,
  images: { unoptimized: true },
  experimental: { authInterrupts: true },
}

export default config
