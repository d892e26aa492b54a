"use client"

import { createContext, type ReactNode, useContext } from "react"

const ViewerContext = createContext<string | undefined>(undefined)

/** Forms name the account of their page, because another tab of the browser may sign in to another one. */
export function SignedInAs({ viewerId, children }: { viewerId: string; children: ReactNode }) {
  return <ViewerContext value={viewerId}>{children}</ViewerContext>
}

export function useViewerId(): string | undefined {
  return useContext(ViewerContext)
}
