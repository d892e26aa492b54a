import { headers } from "next/headers"
import { env } from "@/lib/env"
import { matchesBaseUrl } from "./base-url"

/** Every action checks this first. Browsers send `Origin` with every POST, so a request without it is refused. */
export async function isSameOrigin(): Promise<boolean> {
  return matchesBaseUrl((await headers()).get("origin"), env().BASE_URL)
}
