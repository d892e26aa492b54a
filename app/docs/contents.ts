import { type DocumentSection, guides, leaks, quickstart } from "@/app/_shell/documents/sections"
import { clientsOf } from "@/app/api/v1/clients"
import { endpoints } from "@/app/api/v1/endpoints"
import { operationId } from "@/lib/api/documents/document"
import { texts } from "@/lib/api/documents/skill"
import { type Surface, surfaces } from "@/lib/surfaces"

type ContentsEntry = { href: string; title: string; method?: string }

/** A page of the documents; its entries are its sections. */
export type ContentsPage = { href: string; title: string; surface?: Surface; entries: readonly ContentsEntry[] }

export async function contents(): Promise<ContentsPage[]> {
  const all = await endpoints()
  const sections = { admin: await sectionsOf("admin"), user: await sectionsOf("user") }
  return [
    pageOf("/docs/quickstart", "Quickstart", quickstart),
    pageOf("/docs", "Guides", guides),
    ...surfaces.toReversed().map((surface) => ({
      href: `/docs/${surface}`,
      title: texts[surface].title,
      surface,
      entries: [
        ...all
          .filter((endpoint) => endpoint.surface === surface)
          .map((endpoint) => ({
            href: `/docs/${surface}#${operationId(endpoint)}`,
            title: endpoint.path.replace("/api/v1", ""),
            method: endpoint.method,
          })),
        ...sections[surface],
      ],
    })),
    pageOf("/docs/leaks", "Leaked keys", leaks),
  ]
}

async function sectionsOf(surface: Surface): Promise<ContentsEntry[]> {
  return (await clientsOf(surface)).map(({ section: { id, title } }) => ({ href: `/docs/${surface}#${id}`, title }))
}

function pageOf(href: string, title: string, sections: readonly DocumentSection[]): ContentsPage {
  return { href, title, entries: sections.map(({ id, title }) => ({ href: `${href}#${id}`, title })) }
}
