import { ChevronRight, KeyRound, Menu, Search } from "lucide-react"
import type { ReactNode } from "react"
import { maxQueryLength } from "@/app/_shell/documents/search"
import { SkipLink } from "@/app/_shell/skip-link"
import { LanguageChoice } from "@/components/code/language-choice"
import { SearchField } from "@/components/list/search-field"
import { Wordmark } from "@/components/page/wordmark"
import { Button, buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { kinds, type Surface } from "@/lib/surfaces"
import { type ContentsPage, contents } from "./contents"
import { ContentsPopover } from "./contents-popover"
import { Method } from "./method"
import { PaletteLoader } from "./palette-loader"

// Links between documents are plain, because the server keeps them as whole pages, without data for Next's router.

/** @param hasCode whether the page has code in several languages */
export async function DocumentPage({
  path,
  hasCode = false,
  children,
}: {
  path: string
  hasCode?: boolean
  children: ReactNode
}) {
  const all = await contents()
  const surface = all.find(({ href }) => href === path)?.surface
  const isSearch = path === "/docs/search"
  return (
    <div className="group/requests mx-auto max-w-7xl px-4 sm:px-6">
      <SkipLink />
      <PaletteLoader />
      <header className="z-20 flex h-14 items-center gap-x-4 border-b border-line bg-page lg:sticky lg:top-0 print:hidden">
        <Link href="/" className="flex rounded-md">
          <Wordmark />
        </Link>
        <nav aria-label="Documents" className="hidden gap-0.5 lg:flex">
          {all.map((page) => (
            <Tab key={page.href} page={page} isCurrent={page.href === path} />
          ))}
        </nav>
        {!isSearch && (
          <search className="ml-auto hidden min-w-0 lg:block">
            <form action="/docs/search">
              <SearchField
                id="search"
                type="search"
                name="q"
                label="Search the documents"
                placeholder="Search"
                maxLength={maxQueryLength}
              />
            </form>
          </search>
        )}
        <Link href={kinds.user.page} className={`${buttonStyle()} ${isSearch ? "ml-auto" : "max-lg:ml-auto"}`}>
          <KeyRound aria-hidden="true" className="size-4" />
          <span className="lg:max-xl:sr-only">Your keys</span>
        </Link>
      </header>
      <div className="gap-x-8 lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]">
        <ContentsPopover>
          {all.map((page) => (
            <PageContents key={page.href} page={page} path={path} />
          ))}
        </ContentsPopover>
        <div className={`min-w-0 ${hues[surface ?? "user"].page}`}>
          <div
            className={`sticky top-0 z-10 flex h-12 items-center gap-1 border-b border-line bg-page lg:top-14 print:hidden ${hasCode ? "" : "lg:hidden"}`}
          >
            <Button kind="quiet" popoverTarget="contents" className="-ml-2 px-2 lg:hidden">
              <Menu aria-hidden="true" className="size-4" />
              <span className="max-[24rem]:sr-only">Contents</span>
            </Button>
            {hasCode && (
              <section aria-label="Language" className="xl:ml-[calc(50%+0.5rem)]">
                <LanguageChoice />
              </section>
            )}
            {!isSearch && (
              <a href="/docs/search" className={`${buttonStyle("quiet")} -mr-2 ml-auto px-2 lg:hidden`}>
                <Search aria-hidden="true" className="size-4" />
                <span className="sr-only">Search the documents</span>
              </a>
            )}
          </div>
          <main
            id="content"
            tabIndex={-1}
            className="pb-24 outline-none [&_:is(h2,p)>a]:py-1 [&_:is(li,tr,dt):target]:bg-accent/10 [&_[id]]:scroll-mt-16 lg:[&_[id]]:scroll-mt-30"
          >
            {children}
          </main>
        </div>
      </div>
    </div>
  )
}

/** Within its page, a surface has the place of the accent. */
const hues: Record<Surface, { page: string; mark: string; tab: string }> = {
  user: { page: "", mark: "bg-user", tab: "aria-[current=page]:bg-user/10 aria-[current=page]:text-user" },
  admin: {
    page: "[--accent:var(--admin)]",
    mark: "bg-admin",
    tab: "aria-[current=page]:bg-admin/10 aria-[current=page]:text-admin",
  },
}

function Mark({ surface }: { surface: Surface | undefined }) {
  return surface && <span aria-hidden="true" className={`size-2 rounded-full ${hues[surface].mark}`} />
}

function Tab({ page: { href, title, surface }, isCurrent }: { page: ContentsPage; isCurrent: boolean }) {
  return (
    <a
      href={href}
      aria-current={isCurrent ? "page" : undefined}
      className={`flex h-8 items-center gap-1.5 rounded-md px-2 font-medium whitespace-nowrap text-muted hover:bg-sunken hover:text-ink ${hues[surface ?? "user"].tab}`}
    >
      <Mark surface={surface} />
      {title}
    </a>
  )
}

/** The guides are always open, so that each is one click away. */
function PageContents({ page: { href, title, surface, entries }, path }: { page: ContentsPage; path: string }) {
  const isOpen = href === path || href === "/docs" || (path === "/docs" && surface === "user")
  if (!isOpen && !surface) {
    return (
      <a href={href} className={`${entryStyle} text-xs font-semibold text-ink`}>
        {title}
      </a>
    )
  }
  return (
    <details open={isOpen} className={`group/page ${surface ? hues[surface].page : ""}`}>
      <summary className="flex h-9 cursor-pointer items-center gap-1.5 rounded-md px-2 text-xs font-semibold hover:bg-sunken lg:h-7">
        <Mark surface={surface} />
        {title}
        <ChevronRight aria-hidden="true" className="ml-auto size-3.5 text-muted group-open/page:rotate-90" />
      </summary>
      <ul className="mb-2 grid">
        {href !== path && (
          <li>
            <a href={href} className={entryStyle}>
              Overview
            </a>
          </li>
        )}
        {entries.map(({ href, title, method }) => (
          <li key={href}>
            <a href={href} className={entryStyle}>
              {method && <Method isAligned>{method}</Method>}
              {method ? <code className="font-mono text-xs">{title}</code> : title}
            </a>
          </li>
        ))}
      </ul>
    </details>
  )
}

const entryStyle =
  "flex min-h-9 items-center gap-2 rounded-md px-2 text-muted hover:bg-sunken hover:text-ink lg:min-h-6.5 aria-[current=location]:bg-accent/10 aria-[current=location]:text-accent"
