import type { ReactNode } from "react"

/** The sheet shows a request that the list opened. */
export default function RequestsLayout({ children, sheet }: LayoutProps<"/account/requests">): ReactNode {
  return (
    <>
      {children}
      {sheet}
    </>
  )
}
