import NextLink from "next/link"
import type { ComponentProps } from "react"

/**
 * An internal link without prefetching. Next would send two requests for each link that scrolls into view, without
 * benefit: every page is rendered per request.
 */
export function Link(properties: Omit<ComponentProps<typeof NextLink>, "prefetch">) {
  return <NextLink prefetch={false} {...properties} />
}
