import { documentRoutes } from "@/lib/api/methods"
import { env } from "@/lib/env"
import { product } from "@/lib/product"

/** RFC 9116. */
export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = documentRoutes(
  "text/plain; charset=utf-8",
  async () => `Contact: mailto:${product.supportEmail}
Expires: ${new Date(Date.now() + 180 * 86_400_000).toISOString().slice(0, 10)}T00:00:00Z
Preferred-Languages: en
Policy: ${env().BASE_URL}/docs/leaks
Canonical: ${env().BASE_URL}/.well-known/security.txt
`,
)
