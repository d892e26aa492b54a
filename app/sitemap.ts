import type { MetadataRoute } from "next"
import { env } from "@/lib/env"
import { documentPaths } from "@/lib/platform/http/documents"

// BASE_URL is set when the server starts, not when it is built.
export const dynamic = "force-dynamic"

export default function sitemap(): MetadataRoute.Sitemap {
  return ["/", ...documentPaths].map((path) => ({ url: `${env().BASE_URL}${path}` }))
}
