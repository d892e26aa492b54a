import { env } from "@/lib/env"

/** The providers besides the password, by the variables that are set: what the sign-in page shows. */
export function socialProviders(): { id: "github" | "google"; name: string }[] {
  const { GITHUB_CLIENT_ID, GOOGLE_CLIENT_ID } = env()
  return [
    ...(GITHUB_CLIENT_ID ? [{ id: "github", name: "GitHub" } as const] : []),
    ...(GOOGLE_CLIENT_ID ? [{ id: "google", name: "Google" } as const] : []),
  ]
}
