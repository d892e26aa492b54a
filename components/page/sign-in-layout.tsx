import type { ReactNode } from "react"
import { Link } from "@/components/ui/link"
import { Keyhole } from "@/components/values/lock"
import { kinds, surfaces } from "@/lib/surfaces"
import { Wordmark } from "./wordmark"

export function SignInLayout({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="lg:grid lg:grid-cols-2">
      <main className="mx-auto grid w-full max-w-sm content-start gap-6 px-4 pt-[max(3rem,14vh)] pb-12">
        <Link href="/" className="justify-self-start rounded-md">
          <Wordmark />
        </Link>
        <h1 className="text-title">{title}</h1>
        <div className="grid gap-5">{children}</div>
      </main>
      <div aria-hidden="true" className="sticky top-0 hidden h-dvh grid-cols-2 lg:grid print:hidden">
        {surfaces.toReversed().map((surface) => (
          <div
            key={surface}
            data-surface={surface}
            className="grid content-center justify-items-center gap-8 bg-accent/8 text-accent"
          >
            <Keyhole surface={surface} className="h-[28vh]" />
            <code className="font-mono">{kinds[surface].prefix}…</code>
          </div>
        ))}
      </div>
    </div>
  )
}
