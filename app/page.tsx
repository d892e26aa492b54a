import { KeyRound, ShieldCheck } from "lucide-react"
import { redirect } from "next/navigation"
import type { ReactNode } from "react"
import { publicLinks } from "@/app/_shell/sections"
import { buttonStyle } from "@/components/button"
import { Link } from "@/components/link"
import { Wordmark } from "@/components/wordmark"
import { currentViewer } from "@/lib/sign-in/session"
import { kinds, type Surface } from "@/lib/surfaces"

export default async function StartPage() {
  if (await currentViewer()) redirect(kinds.user.page)
  return (
    <main className="mx-auto grid max-w-3xl gap-10 px-4 pt-[max(3rem,12vh)] pb-16">
      <Wordmark />
      <div className="grid justify-items-start gap-4">
        <h1 className="max-w-xl text-3xl font-semibold tracking-tight text-balance">
          A user API and an admin API, each with its own keys
        </h1>
        <p className="max-w-xl text-base text-muted">
          Your customers’ code uses user keys, which access one account. Your team’s reports use admin keys, which read
          all accounts. Each API rejects the other’s keys.
        </p>
        <div className="flex flex-wrap gap-2">
          <Link href="/sign-up" className={buttonStyle("primary")}>
            Create account
          </Link>
          <Link href="/sign-in" className={buttonStyle()}>
            Sign in
          </Link>
          {(await publicLinks()).map(({ href, label }) => (
            <Link key={href} href={href} className={buttonStyle("quiet")}>
              {label}
            </Link>
          ))}
        </div>
      </div>
      <div className="grid gap-4 sm:grid-cols-2">
        <SurfaceCard surface="user" title="User keys" icon={<KeyRound aria-hidden="true" className="size-4" />}>
          Every signed-in user can create them. A key accesses only its owner’s account, so a leaked key exposes one
          account.
        </SurfaceCard>
        <SurfaceCard surface="admin" title="Admin keys" icon={<ShieldCheck aria-hidden="true" className="size-4" />}>
          For reports, scripts and AI agents. A key is read-only and limited to what its owner’s role currently permits.
        </SurfaceCard>
      </div>
    </main>
  )
}

function SurfaceCard({
  surface,
  title,
  icon,
  children,
}: {
  surface: Surface
  title: string
  icon: ReactNode
  children: ReactNode
}) {
  const { prefix, api } = kinds[surface]
  return (
    <section className="grid content-start gap-2 rounded-lg border border-line bg-panel p-4">
      <h2 className="flex items-center gap-2 font-semibold">
        {icon}
        {title}
      </h2>
      <p className="text-muted">{children}</p>
      <p className="font-mono text-xs text-muted">
        {prefix}… → {api}
      </p>
    </section>
  )
}
