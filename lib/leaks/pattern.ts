import { patternOf } from "@/lib/keys/secret"
import { keyPrefixes, product } from "@/lib/product"
import { type Surface, surfaces } from "@/lib/surfaces"

// The expressions use only the syntax that RE2 and Hyperscan have, too. They have no boundaries: in JSON, notebooks and
// URLs a letter of an escape, such as \n or %0A, can precede a key.

function patternOfSurfaces(...of: readonly Surface[]): string {
  const prefixes = of.flatMap((surface) => keyPrefixes[surface])
  return patternOf(`(?:${prefixes.join("|")})`)
}

export const gitleaksRule = {
  id: `${product.slug}-api-key`,
  description: `${product.name} API key`,
  regex: patternOfSurfaces(...surfaces),
  keywords: surfaces.flatMap((surface) => [...keyPrefixes[surface]]),
}

export const gitleaksToml = [
  "[[rules]]",
  `id = "${gitleaksRule.id}"`,
  `description = "${gitleaksRule.description}"`,
  `regex = '''${gitleaksRule.regex}'''`,
  `keywords = ${JSON.stringify(gitleaksRule.keywords)}`,
].join("\n")

/** As GitHub's secret scanning partner program asks for them. */
export const githubPatterns = surfaces.map((surface) => ({
  type: `${product.slug}_${surface}_api_key`,
  pattern: patternOfSurfaces(surface),
}))
