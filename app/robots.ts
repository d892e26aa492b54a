import type { MetadataRoute } from "next"
import { env } from "@/lib/env"

// BASE_URL is set when the server starts, not when it is built.
export const dynamic = "force-dynamic"

/** Each page itself says whether it may be indexed. */
export default function robots(): MetadataRoute.Robots {
  return { rules: { userAgent: "*", disallow: "/api/" }, sitemap: `${env().BASE_URL}/sitemap.xml` }
}
