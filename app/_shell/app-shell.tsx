import { ChevronsUpDown, LifeBuoy, LogOut, Menu, Settings } from "lucide-react"
import type { ReactNode } from "react"
import { Form } from "@/components/form/form"
import { SignedInAs } from "@/components/form/signed-in-as"
import { MenuPopover } from "@/components/overlay/menu-popover"
import { ToastRegion } from "@/components/overlay/toast"
import { Wordmark } from "@/components/page/wordmark"
import { Button, buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { Notice } from "@/components/ui/notice"
import { Avatar } from "@/components/values/avatar"
import { Keyhole } from "@/components/values/lock"
import { Untrusted } from "@/components/values/untrusted"
import { chosenTheme } from "@/lib/platform/http/theme"
import { currentViewer, setupPage, type Viewer } from "@/lib/sign-in/browser-session"
import { signOut } from "./actions"
import { findingsFor, support } from "./findings-for"
import { NavigationLink } from "./navigation-link"
import { navigationStyle } from "./navigation-style"
import { Palette } from "./palette"
import { SameViewer } from "./same-viewer"
import { type Area, type NavigationSection, sectionsFor } from "./sections"
import { SignOutButton } from "./sign-out-button"
import { SkipLink } from "./skip-link"
import { ThemeForm } from "./theme-form"

export async function AppShell({ children }: { children: ReactNode }) {
  const viewer = await currentViewer()
  // The page redirects to sign-in, because only the page knows its callback URL.
  if (!viewer) return children
  return (
    <div className="xl:grid xl:grid-cols-[14rem_minmax(0,1fr)] print:block">
      <SkipLink />
      <SameViewer viewerId={viewer.id} />
      <header className="sticky top-0 z-10 flex h-12 items-center gap-2 border-b border-line bg-panel px-3 xl:hidden">
        <Button kind="quiet" popoverTarget="sidebar" aria-label="Menu" className="px-2">
          <Menu aria-hidden="true" className="size-5" />
        </Button>
        <Wordmark />
      </header>
      <aside
        id="sidebar"
        aria-label="Navigation and account"
        popover="auto"
        className="m-0 h-dvh max-h-none w-60 flex-col xl:w-auto gap-3 xl:py-2 border-r border-line bg-panel p-3 text-ink backdrop:bg-veil open:flex xl:sticky xl:top-0 xl:flex"
      >
        <div className="hidden px-2 pt-1 xl:block">
          <Wordmark />
        </div>
        <Palette pages={await findingsFor(viewer.role)} />
        {/* Entries fade out above the account row; the last one ends above the fade. */}
        <div className="-mx-3 -mb-3 grid min-h-0 grow scroll-pt-1 scroll-pb-6 content-start gap-3 overflow-y-auto mask-b-from-[calc(100%-1.5rem)] px-3 pb-6">
          <AreaNavigation area="account" title="Your account" sections={await sectionsFor("account", viewer.role)} />
          <AreaNavigation area="admin" title="Administration" sections={await sectionsFor("admin", viewer.role)} />
          <AreaNavigation area="help" title="Help" sections={await sectionsFor("help", viewer.role)}>
            <a href={support.href} className={`-mt-1 ${navigationStyle}`}>
              <LifeBuoy aria-hidden="true" className="size-4" />
              {support.label}
            </a>
          </AreaNavigation>
        </div>
        <Account viewer={viewer} />
      </aside>
      <main id="content" tabIndex={-1} className="min-w-0 px-4 py-6 outline-none sm:px-6">
        {viewer.role !== viewer.grantedRole && <FactorNeeded role={viewer.grantedRole} />}
        <SignedInAs viewerId={viewer.id}>
          <ToastRegion>{children}</ToastRegion>
        </SignedInAs>
      </main>
    </div>
  )
}

function FactorNeeded({ role }: { role: string }) {
  return (
    <div className="mx-auto mb-6 w-full max-w-6xl print:hidden">
      <Notice tone="warn">
        Your role, {role}, needs a second factor before you can open the console.{" "}
        <Link href={setupPage} className="font-medium underline">
          Set up two-factor authentication
        </Link>
      </Notice>
    </div>
  )
}

type ShownArea = Exclude<Area, "site">

/** The hue is that of the mark and of the current entry; all else has a color of its own. */
const marks: Record<ShownArea, { hue: string; mark?: ReactNode }> = {
  account: { hue: "text-user", mark: <Keyhole surface="user" className="h-3.5 w-4" /> },
  admin: { hue: "text-admin", mark: <Keyhole surface="admin" className="h-3.5 w-4" /> },
  help: { hue: "text-muted" },
}

function AreaNavigation({
  area,
  title,
  sections,
  children,
}: {
  area: ShownArea
  title: string
  sections: readonly NavigationSection[]
  children?: ReactNode
}) {
  if (sections.length === 0 && !children) return null
  const { hue, mark } = marks[area]
  return (
    <nav aria-label={title} className={`grid gap-1 ${hue}`}>
      <p className="flex items-center gap-2 px-2 text-xs font-semibold">
        {mark}
        <span className="text-ink">{title}</span>
      </p>
      {sections.map((section) => (
        <section key={section.title ?? title} aria-label={section.title ?? title} className="grid gap-0.5">
          {section.title && <h2 className="px-2 text-xs text-muted">{section.title}</h2>}
          <ul className="grid max-xl:gap-0.5">
            {section.entries.map(({ href, label, icon: Icon }) => (
              <li key={href}>
                <NavigationLink href={href}>
                  <Icon aria-hidden="true" className="size-4" />
                  {label}
                </NavigationLink>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {children}
    </nav>
  )
}

async function Account({ viewer }: { viewer: Viewer }) {
  return (
    <div className="relative mt-auto">
      <Button kind="quiet" popoverTarget="account" className="w-full justify-between px-2 text-xs text-ink">
        <Avatar {...viewer} />
        <span className="grow truncate text-left font-normal">
          <span className="sr-only">Account menu for </span>
          <Untrusted>{viewer.email}</Untrusted>
        </span>
        <ChevronsUpDown aria-hidden="true" className="size-4 shrink-0 text-muted" />
      </Button>
      <MenuPopover
        id="account"
        className="fixed inset-auto bottom-14 left-3 m-0 w-56 gap-3 rounded-lg border border-line bg-panel p-3 text-ink shadow-lg open:grid"
      >
        <div className="grid gap-0.5">
          <p className="truncate font-medium">
            <Untrusted>{viewer.name}</Untrusted>
          </p>
          <p className="break-all text-muted">
            <Untrusted>{viewer.email}</Untrusted>
          </p>
          <p className="text-muted">
            Role: <span className="text-ink">{viewer.grantedRole}</span>
          </p>
        </div>
        <NavigationLink href="/account/settings">
          <Settings aria-hidden="true" className="size-4" />
          Settings
        </NavigationLink>
        <ThemeForm chosen={await chosenTheme()} />
        <Form action={signOut}>
          <SignOutButton id="sign-out" className={`${buttonStyle()} w-full`}>
            <LogOut aria-hidden="true" className="size-4" />
            Sign out
          </SignOutButton>
        </Form>
      </MenuPopover>
    </div>
  )
}
