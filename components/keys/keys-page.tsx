import { randomUUID } from "node:crypto"
import { Link } from "@/components/link"
import { listKeys, managesAll } from "@/lib/keys/data"
import { holds } from "@/lib/permissions"
import type { Viewer } from "@/lib/sign-in/session"
import { kinds, type Surface } from "@/lib/surfaces"
import { EmptyState } from "../empty-state"
import { PageFrame, Panel } from "../page-frame"
import { CreateKey } from "./create-key"
import { type CreateAction, KeyCreation } from "./key-creation"
import { KeyList } from "./key-list"
import { readyToPaste } from "./ready-to-paste"
import type { RevokeAction } from "./revocation"
import type { MeteredCall } from "./run-call"

const intros: Record<Surface, string> = {
  user: "For your own code. A key gives access to your account only.",
  admin:
    "For reports, scripts and AI agents. A key can read what its owner’s role can read, and cannot change anything.",
}

/**
 * The page for one kind of key. The buttons open dialogs; without JavaScript they open `?new` and `?revoke=<id>`, which
 * show the same forms in the page.
 */
export async function KeysPage({
  surface,
  viewer,
  query,
  testPath,
  runs,
  create,
  revoke,
}: {
  surface: Surface
  viewer: Viewer
  query: Record<string, string | string[] | undefined>
  /** The path that "Test it now" requests; `null` when the viewer's role has no read permission. */
  testPath: string | null
  /** The metered endpoints that can be tried with a new key. */
  runs: readonly MeteredCall[]
  create: CreateAction
  revoke: RevokeAction
}) {
  const { title, page, api, prefix } = kinds[surface]
  const keys = await listKeys(surface, viewer)
  const creation = { page, testPath, runs, action: create, requestId: randomUUID(), snippets: readyToPaste(surface) }
  const now = new Date()
  return (
    <PageFrame
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
      actions={query.new === undefined && <CreateKey {...creation} />}
    >
      {query.new !== undefined && (
        <Panel label="Create key">
          <KeyCreation {...creation} now={now.toISOString()} />
        </Panel>
      )}
      <KeyList
        keys={keys}
        caption={title}
        owners={ownersFor(surface, viewer)}
        page={page}
        revoke={revoke}
        selected={query.revoke}
        empty={
          <EmptyState title="No keys yet">
            Create a key, copy it, and try it with the example that is shown with it.
          </EmptyState>
        }
      />
    </PageFrame>
  )
}

/** How the list names the owners of its keys: not at all, by id, or by address for viewers who may read accounts. */
function ownersFor(surface: Surface, viewer: Viewer) {
  if (!managesAll(surface, viewer)) return "hidden"
  return holds(viewer.role, "users.read") ? "addresses" : "ids"
}
