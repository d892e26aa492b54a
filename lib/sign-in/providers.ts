import { env } from "@/lib/env"

/** The sign-in providers whose variables are set; the sign-in page shows them. */
export function socialProviders(): { id: "github" | "google"; name: string }[] {
  const { GITHUB_CLIENT_ID, GOOGLE_CLIENT_ID } = env()
  return [
    ...(GITHUB_CLIENT_ID ? [{ id: "github", name: "GitHub" } as const] : []),
    ...(GOOGLE_CLIENT_ID ? [{ id: "google", name: "Google" } as const] : []),
  ]
}
