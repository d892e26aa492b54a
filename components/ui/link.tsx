"use client"

import NextLink, { useLinkStatus } from "next/link"
import type { ComponentProps } from "react"
import { PendingBar } from "./pending-bar"

/** No prefetch: Next would request each link in view twice, without benefit, as every page is rendered per request. */
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
