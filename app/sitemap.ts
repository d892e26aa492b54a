import type { MetadataRoute } from "next"
import { env } from "@/lib/env"
import { surfaces } from "@/lib/surfaces"

// BASE_URL is set when the server starts, not when it is built.
export const dynamic = "force-dynamic"

/** The pages that search engines may index. */
export default function sitemap(): MetadataRoute.Sitemap {
  const paths = ["/", "/docs", ...surfaces.map((surface) => `/docs/${surface}`), "/docs/leaks"]
  return paths.map((path) => ({ url: `${env().BASE_URL}${path}` }))
}
