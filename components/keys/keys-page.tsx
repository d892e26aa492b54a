import { randomUUID } from "node:crypto"
import { PageFrame, Panel } from "@/components/page/page-frame"
import { buttonStyle } from "@/components/ui/button"
import { EmptyState } from "@/components/ui/empty-state"
import { Link } from "@/components/ui/link"
import type { Documented } from "@/lib/api/documents/document"
import { listKeys, managesAll } from "@/lib/keys/data"
import { presetsOf, type Scope, scopeMeanings } from "@/lib/keys/scopes"
import { holds } from "@/lib/permissions"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import type { Viewer } from "@/lib/sign-in/browser-session"
import { kinds, type Surface } from "@/lib/surfaces"
import { CreateKey, CreateKeyInPage } from "./create-key"
import { firstCallsOf } from "./first-calls"
import type { CreateAction } from "./key-creation"
import { KeyList } from "./key-list"
import type { RowServerActions } from "./row-forms"

const intros: Record<Surface, string> = {
  user: "For your own code. A key gives access to your account only.",
  admin:
    "For reports, scripts and AI agents. A key reads the data that you choose, within its owner’s role, and cannot change anything.",
}

export async function KeysPage({
  surface,
  viewer,
  query,
  offered,
  runs = [],
  clients,
  create,
  rotate,
  change,
  revoke,
}: RowServerActions & {
  surface: Surface
  viewer: Viewer
  query: Record<string, string | string[] | undefined>
  offered: Readonly<Record<Surface, readonly Scope[]>>
  /** Metered endpoints, which a key with the permission may call. */
  runs?: readonly Documented[]
  /** Other protocols, whose setup is shown beside the requests. */
  clients: Parameters<typeof firstCallsOf>[3]
  create: CreateAction
}) {
  const { title, page, api, prefix } = kinds[surface]
  const keys = await listKeys(surface, viewer)
  const shown = { page, ...firstCallsOf(surface, viewer.role, runs, clients) }
  const rules = { hasSpending: surface === "user", perMinute: limits.key.tokens }
  const meanings = Object.fromEntries(offered[surface].map((scope) => [scope, scopeMeanings[scope]]))
  const presets = presetsOf(surface, offered[surface])
  const form = { action: create, requestId: randomUUID(), offered: meanings, presets, rules }
  const own = { viewerId: viewer.id, rotate, requestId: randomUUID(), shown, change, rules }
  return (
    <PageFrame
      surface={surface}
      title={title}
      intro={
        <>
          <p>{intros[surface]}</p>
          <p>
            Keys start with <code className="font-mono text-ink">{prefix}</code> and give access to{" "}
            <code className="font-mono text-ink">{api}</code>. See the{" "}
            <Link href={`/docs/${surface}`} className="font-medium text-accent hover:underline">
              API reference
            </Link>
            .
          </p>
        </>
      }
      actions={query.new === undefined && <CreateKey {...form} shown={shown} />}
    >
      {query.new !== undefined && (
        <Panel label="Create key">
          <CreateKeyInPage {...form} now={new Date().toISOString()} shown={shown} />
        </Panel>
      )}
      <KeyList
        keys={keys}
        caption={title}
        owners={ownersFor(surface, viewer)}
        page={page}
        query={query}
        offered={offered}
        pageOf={({ id }) => `${page}/${id}`}
        forms={{ revoke, own }}
        empty={query.new === undefined && <NoKeys page={page} />}
      />
    </PageFrame>
  )
}

/** A link, because a dialog opened here would close with the first key. */
function NoKeys({ page }: { page: string }) {
  return (
    <EmptyState
      title="No keys yet"
      action={
        <Link href={`${page}?new`} className={buttonStyle()}>
          Create your first key
        </Link>
      }
    >
      Create a key, copy it, and try it with the example request that is shown with it.
    </EmptyState>
  )
}

function ownersFor(surface: Surface, viewer: Viewer) {
  if (!managesAll(surface, viewer)) return "hidden"
  return holds(viewer.role, "users.read") ? "addresses" : "ids"
}
