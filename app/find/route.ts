import type { Finding } from "@/app/_shell/findings"
import { findingsFor } from "@/app/_shell/findings-for"
import { GET as requests } from "@/app/api/v1/admin/requests/route"
import { GET as users } from "@/app/api/v1/admin/users/route"
import { nameOfRequest } from "@/components/list/request-cells"
import { Refusal } from "@/lib/api/errors"
import { searchParameter } from "@/lib/api/parameters"
import { permissionCheckOf } from "@/lib/api/streams/page-or-stream"
import { withFailures } from "@/lib/form/page-route"
import { consolePageOf, findKeysByText, limitsOf, stateOf } from "@/lib/keys/data"
import { keyStatus } from "@/lib/keys/health"
import { holds } from "@/lib/permissions"
import type { Term } from "@/lib/platform/postgres/search"
import { fromStandby } from "@/lib/platform/postgres/standbys"
import { relativeTime } from "@/lib/platform/text/format-time"
import { findRequest, requestPage } from "@/lib/request-log/lists"
import { currentViewer, type Viewer } from "@/lib/sign-in/browser-session"
import { kinds } from "@/lib/surfaces"
import { findDocuments } from "./documents"

const shown = 6

const searched = searchParameter({ table: "users", account: "id" })

/** In the order of their groups. Each finds only what the viewer may open. */
const finders: readonly ((term: Term, viewer: Viewer) => Promise<Finding[]>)[] = [
  findRequests,
  findAccounts,
  findKeys,
  findDocuments,
]

/** Without a text: the pages, for the documents, which are the same for everyone. Visitors find documents only. */
export const GET = withFailures(async (request) => {
  const viewer = await currentViewer()
  const text = new URL(request.url).searchParams.get("q")
  const found = text === null ? await pagesFor(viewer) : await findText(text, viewer)
  return Response.json(found, { headers: { "Cache-Control": "no-store" } })
})

async function findText(text: string, viewer: Viewer | null): Promise<Finding[]> {
  const { data: term } = searched.safeParse(text)
  if (!term) return []
  if (!viewer) return findDocuments(term)
  return (await Promise.all(finders.map((find) => find(term, viewer)))).flat()
}

/** The documents have no account menu with buttons. */
async function pagesFor(viewer: Viewer | null): Promise<Finding[]> {
  return (await findingsFor(viewer?.role)).filter(({ href }) => !href.startsWith("#"))
}

/** By the X-Request-Id of a response. An account finds its own. */
async function findRequests({ value }: Term, { id: userId, role }: Viewer): Promise<Finding[]> {
  const found = await findRequest(value, holds(role, requests.endpoint.permission) ? {} : { userId })
  if (!found) return []
  const { status, createdAt } = found
  return [
    {
      group: "Requests",
      label: nameOfRequest(found),
      note: `${status} · ${relativeTime(new Date(createdAt), new Date())}`,
      href: requestPage(found.userId === userId ? "/account/requests" : "/admin/requests", found),
    },
  ]
}

async function findAccounts({ value }: Term, { role, written }: Viewer): Promise<Finding[]> {
  if (!holds(role, users.endpoint.permission)) return []
  const query = new URLSearchParams({ q: value, limit: String(shown) })
  try {
    const { data } = await fromStandby(() => users.endpoint.read(String(query), permissionCheckOf(role)), written)
    return data.map(({ id, name, email }) => ({
      group: "Accounts",
      label: email,
      note: name,
      href: `/admin/users/${id}`,
    }))
  } catch (error) {
    // The text has too many matches.
    if (error instanceof Refusal) return []
    throw error
  }
}

async function findKeys(term: Term, viewer: Viewer): Promise<Finding[]> {
  const keys = await findKeysByText(term, viewer, shown)
  const now = new Date()
  return keys.flatMap((key) => {
    const { id, name, surface, userId } = key
    const own = surface === "user" && userId === viewer.id ? `${kinds.user.page}/${id}` : undefined
    const href = own ?? consolePageOf({ id, surface }, viewer)
    return href ? [{ group: "Keys" as const, label: name, note: noteOf(key, viewer, now), href }] : []
  })
}

/** Ends with the first characters, which tell keys of the same name apart. */
function noteOf(key: Awaited<ReturnType<typeof findKeysByText>>[number], viewer: Viewer, now: Date): string {
  const used = key.lastUsedAt ? `Used ${relativeTime(key.lastUsedAt, now)}` : "Never used"
  const isNamed = key.userId !== viewer.id && holds(viewer.role, users.endpoint.permission)
  const shown = { ...key, ...limitsOf(key), state: stateOf(key, now), isReplaced: key.successorId !== null }
  const status = keyStatus({ ...shown, owner: key.user }, now)
  return `${isNamed ? key.user.email : used} · ${status.text} · ${key.start}…`
}
