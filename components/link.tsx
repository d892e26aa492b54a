import NextLink from "next/link"
import type { ComponentProps } from "react"

/**
 * A link within the site, of which nothing is fetched before it is followed. Next would ask the server twice for each link
 * that comes into view, and get nothing to show: every page here is rendered for who asks for it.
 */
export function Link(properties: Omit<ComponentProps<typeof NextLink>, "prefetch">) {
  return <NextLink prefetch={false} {...properties} />
}
