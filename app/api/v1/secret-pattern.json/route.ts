import { documentRoutes } from "@/lib/api/methods"
import { env } from "@/lib/env"
import { githubPatterns, gitleaksRule } from "@/lib/leaks/pattern"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = documentRoutes("application/json", async () =>
  JSON.stringify({
    documentation: `${env().BASE_URL}/docs/leaks`,
    report: `${env().BASE_URL}/api/leaks`,
    gitleaks: gitleaksRule,
    github: githubPatterns.map((pattern) => ({ ...pattern, endpoint: `${env().BASE_URL}/api/leaks/github` })),
  }),
)
