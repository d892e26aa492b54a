import type { ReactNode } from "react"
import { Link } from "@/components/ui/link"
import { Wordmark } from "./wordmark"

export function SignInLayout({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="mx-auto grid w-full max-w-sm gap-6 px-4 pt-[max(3rem,14vh)] pb-12">
      <Link href="/" className="justify-self-start rounded-md">
        <Wordmark />
      </Link>
      <div className="grid gap-5 rounded-lg border border-line bg-panel p-5 shadow-xs">
        <h1 className="text-lg font-semibold">{title}</h1>
        {children}
      </div>
    </main>
  )
}
