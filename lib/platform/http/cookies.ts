import { product } from "@/lib/product"
import { isHttps } from "./https"

const days = 24 * 3600

export const sessionMaxAgeSeconds = 90 * days

/** `Secure` and the `__Host-` prefix, which binds a cookie to this host, require https. */
export function cookieName(name: string): string {
  return `${isHttps() ? "__Host-" : ""}${product.slug}.${name}`
}

export function cookieOptions() {
  return { httpOnly: true, sameSite: "lax", path: "/", secure: isHttps() } as const
}
