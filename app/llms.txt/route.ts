import { linksOf } from "@/app/_shell/sections"
import { texts } from "@/lib/api/documents/skill"
import { documentRoutes } from "@/lib/api/methods"
import { env } from "@/lib/env"
import { product } from "@/lib/product"
import { kinds, surfaces } from "@/lib/surfaces"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = documentRoutes(
  "text/plain; charset=utf-8",
  async () => {
    const base = env().BASE_URL
    const skills = surfaces.map(
      (surface) => `- [${texts[surface].title}](${base}${kinds[surface].api}/skill.md): ${texts[surface].description}`,
    )
    const pages = (await linksOf("site")).map(({ href, label }) => `- [${label}](${base}${href})\n`)
    return `# ${product.name}

> Two HTTP APIs, each with its own type of API key: one for a customer's own data, one with read-only access to all accounts.

## Documentation

${skills.join("\n")}
- [OpenAPI](${base}/api/v1/openapi.json): both APIs in OpenAPI 3.1.
- [Leaked keys](${base}/docs/leaks): how to report keys that were published by mistake.
- [Quickstart](${base}/docs/quickstart): a key, a call that costs credits, an error and a safe retry.
- [Reference](${base}/docs): both APIs, with example requests in curl, JavaScript and Python.
${pages.join("")}`
  },
)
