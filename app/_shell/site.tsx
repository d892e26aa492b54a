import type { ReactNode } from "react"
import { Wordmark } from "@/components/page/wordmark"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { product } from "@/lib/product"
import { linksOf } from "./sections"

// The frame of the pages for visitors.

export async function SiteHeader({ children }: { children: ReactNode }) {
  return (
    <header className="mx-auto flex max-w-6xl items-center gap-2 px-4 py-3 sm:px-6">
      <Link href="/" className="rounded-md">
        <Wordmark />
      </Link>
      <nav aria-label="Site" className="ml-auto flex flex-wrap justify-end gap-1">
        {(await linksOf("site", "help")).map(({ href, label }) => (
          <Link key={href} href={href} className={buttonStyle("quiet")}>
            {label}
          </Link>
        ))}
        {children}
      </nav>
    </header>
  )
}

export function SiteMain({ children }: { children: ReactNode }) {
  return (
    <main className="mx-auto grid max-w-6xl grid-cols-[minmax(0,1fr)] gap-16 px-4 pt-[max(1.5rem,5vh)] pb-20 sm:px-6">
      {children}
    </main>
  )
}

export function SiteSection({
  id,
  title,
  text,
  children,
}: {
  id?: string
  title: string
  text: ReactNode
  children: ReactNode
}) {
  return (
    <section
      id={id}
      aria-label={title}
      className="grid grid-cols-[minmax(0,1fr)] gap-x-10 gap-y-5 border-t border-line pt-8 lg:grid-cols-[minmax(0,1fr)_minmax(0,2fr)]"
    >
      <div className="grid content-start gap-2">
        <h2 className="text-2xl font-semibold tracking-tight">{title}</h2>
        <div className="grid gap-3 text-base text-pretty text-muted">{text}</div>
      </div>
      <div className="grid min-w-0 content-start gap-5">{children}</div>
    </section>
  )
}

export function Points({ points }: { points: readonly string[] }) {
  return (
    <ul className="grid gap-x-8 gap-y-4 sm:grid-cols-3">
      {points.map((point) => (
        <li key={point} className="border-line text-base text-pretty text-muted max-sm:border-t max-sm:pt-3">
          {point}
        </li>
      ))}
    </ul>
  )
}

export function SiteFooter() {
  return (
    <footer className="border-t border-line">
      <div className="mx-auto flex max-w-6xl flex-wrap items-center gap-x-6 gap-y-2 px-4 py-6 text-muted sm:px-6">
        <span className="mr-auto">{product.name}</span>
        <Link href="/docs" className="hover:text-ink">
          API reference
        </Link>
        <Link href="/docs/leaks" className="hover:text-ink">
          Report a leaked key
        </Link>
        <Link href="/for-operators" className="hover:text-ink">
          For operators
        </Link>
        <a href="/.well-known/security.txt" className="hover:text-ink">
          Security
        </a>
        <a href={`mailto:${product.supportEmail}`} className="hover:text-ink">
          {product.supportEmail}
        </a>
      </div>
    </footer>
  )
}
