import type { ReactNode } from "react"
import { Link } from "@/components/ui/link"

export function BackLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <Link href={href} className="justify-self-start text-muted hover:text-ink print:hidden">
      ← {children}
    </Link>
  )
}
