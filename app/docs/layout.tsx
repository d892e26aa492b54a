import { KeyRound } from "lucide-react"
import type { Metadata } from "next"
import { NavigationLink } from "@/app/_shell/navigation-link"
import { SkipLink } from "@/app/_shell/skip-link"
import { Wordmark } from "@/components/page/wordmark"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { texts } from "@/lib/api/documents/skill"
import { kinds, surfaces } from "@/lib/surfaces"

export const metadata: Metadata = { robots: { index: true } }

// The example requests contain BASE_URL, which is set when the server starts, not when it is built.
export const dynamic = "force-dynamic"

export default function DocsLayout({ children }: LayoutProps<"/docs">) {
  return (
    <div className="mx-auto max-w-7xl px-4 sm:px-6">
      <SkipLink />
      <header className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-line py-2">
        <Link href="/" className="rounded-md">
          <Wordmark />
        </Link>
        <nav aria-label="Reference" className="-mx-2 flex max-sm:order-last max-sm:w-full sm:mx-0">
          <NavigationLink href="/docs">Overview</NavigationLink>
          {surfaces.toReversed().map((surface) => (
            <NavigationLink key={surface} href={`/docs/${surface}`}>
              {texts[surface].title}
            </NavigationLink>
          ))}
          <NavigationLink href="/docs/leaks">Leaks</NavigationLink>
        </nav>
        <Link href={kinds.user.page} className={`${buttonStyle()} ml-auto`}>
          <KeyRound aria-hidden="true" className="size-4" />
          Your keys
        </Link>
      </header>
      <main id="content" tabIndex={-1} className="pb-24 outline-none">
        {children}
      </main>
    </div>
  )
}
