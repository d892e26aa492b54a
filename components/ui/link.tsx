"use client"

import NextLink, { useLinkStatus } from "next/link"
import type { ComponentProps } from "react"
import { PendingBar } from "./pending-bar"

/**
 * An internal link without prefetching, which shows that it was followed. Next would send two requests for each link that
 * scrolls into view, without benefit: every page is rendered per request.
 */
export function Link({ children, ...properties }: Omit<ComponentProps<typeof NextLink>, "prefetch">) {
  return (
    <NextLink prefetch={false} {...properties}>
      {children}
      <Pending />
    </NextLink>
  )
}

function Pending() {
  return useLinkStatus().pending && <PendingBar />
}
