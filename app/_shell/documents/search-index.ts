import { clientsOf } from "@/app/api/v1/clients"
import { endpoints, type ServedEndpoint } from "@/app/api/v1/endpoints"
import { type Described, describeParameters, operationId } from "@/lib/api/documents/document"
import { texts } from "@/lib/api/documents/skill"
import { errors } from "@/lib/api/errors"
import { sharedParameters } from "@/lib/api/parameters"
import { type Surface, surfaces } from "@/lib/surfaces"
import { anchorOf, partsOf } from "./endpoint-parts"
import { type DocumentSection, guides, headers, leaks, quickstart } from "./sections"

/** A heading, parameter, field, header or error code of the documents. */
export type DocsEntry = {
  kind: "guide" | "endpoint" | "parameter" | "field" | "header" | "error"
  title: string
  /** Plain. */
  text: string
  href: string
  /** The page, guide or endpoint that contains it. */
  place: string
  /** Of its endpoint. */
  surface?: Surface
  /** Other words that lead to it. */
  words?: string
  /** Of an error code. */
  status?: number
}

let entries: Promise<readonly DocsEntry[]> | undefined

/** Everything to search for in the documents, in their order. */
export function docsIndex(): Promise<readonly DocsEntry[]> {
  entries ??= readEntries()
  return entries
}

async function readEntries(): Promise<DocsEntry[]> {
  const all = await endpoints()
  const read: DocsEntry[] = [
    ...sectionsOf("/docs/quickstart", "Quickstart", quickstart),
    ...sectionsOf("/docs", "Guides", guides),
    ...sectionsOf("/docs/leaks", "Leaked keys", leaks),
    ...surfaces
      .toReversed()
      .flatMap((surface) => all.filter((endpoint) => endpoint.surface === surface).flatMap(entriesOf)),
    ...(await Promise.all(surfaces.toReversed().map(clientSections))).flat(),
    ...itemsOf(
      { kind: "parameter", href: "/docs#pagination", place: "Pagination" },
      describeParameters(sharedParameters),
    ),
    ...Object.entries(headers).map(([title, text]) => ({
      kind: "header" as const,
      title,
      text,
      href: `/docs#${title}`,
      place: "Responses and headers",
    })),
    ...Object.entries(errors).map(([title, { status, meaning }]) => ({
      kind: "error" as const,
      title,
      status,
      text: `${status}: ${meaning}`,
      href: `/docs#${title}`,
      place: "Errors",
    })),
  ]
  return read.map((entry) => ({ ...entry, text: entry.text.replaceAll(/[`*]/g, "") }))
}

async function clientSections(surface: Surface): Promise<DocsEntry[]> {
  const sections = (await clientsOf(surface)).map(({ section }) => section)
  return sectionsOf(`/docs/${surface}`, texts[surface].title, sections)
}

function sectionsOf(path: string, place: string, sections: readonly DocumentSection[]): DocsEntry[] {
  return sections.map(({ id, text, ...section }) => ({
    ...section,
    kind: "guide",
    text: text.join(" "),
    href: `${path}#${id}`,
    place,
  }))
}

function entriesOf(endpoint: ServedEndpoint): DocsEntry[] {
  const { method, path, summary, surface, scope } = endpoint
  const page = `/docs/${surface}#`
  return [
    {
      kind: "endpoint",
      title: `${method} ${path}`,
      text: `${summary}.`,
      href: page + operationId(endpoint),
      place: texts[surface].title,
      surface,
      words: `${operationId(endpoint)} ${scope ?? ""}`,
    },
    ...partsOf(endpoint).flatMap(({ kind, id, title, items }) => {
      const place = `${method} ${path.replace("/api/v1", "")} · ${title}`
      return itemsOf({ kind, href: page + id, place, surface }, items)
    }),
  ]
}

type Place = Pick<DocsEntry, "kind" | "href" | "place" | "surface">

/** The items of a list and their fields. */
function itemsOf(place: Place, items: readonly Described[], parent = ""): DocsEntry[] {
  return items.flatMap(({ name, type, description = "", fields }) => {
    const own = { ...place, href: anchorOf(place.href, name) }
    const title = parent + name
    const text = fields.length > 0 ? description : `${type}. ${description}`
    return [{ ...own, title, text }, ...itemsOf(own, fields, `${title}.`)]
  })
}
