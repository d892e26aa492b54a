import type { MetadataRoute } from "next"
import { linksOf } from "@/app/_shell/sections"
import { env } from "@/lib/env"
import { documentPaths } from "@/lib/platform/http/documents"

// BASE_URL is set when the server starts, not when it is built.
export const dynamic = "force-dynamic"

export default async function sitemap(): Promise<MetadataRoute.Sitemap> {
  const pages = (await linksOf("site")).map(({ href }) => href)
  return ["/", ...pages, ...documentPaths].map((path) => ({ url: `${env().BASE_URL}${path}` }))
}
