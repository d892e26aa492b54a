import { randomUUID } from "node:crypto"
import { Link } from "@/components/link"
import { relativeTime } from "@/lib/format-time"
import { type ListedKey, listKeys } from "@/lib/keys/data"
import type { Viewer } from "@/lib/sign-in/session"
import { kinds, type Surface } from "@/lib/surfaces"
import { ConfirmPanel } from "../confirm/confirm-panel"
import { EmptyState } from "../empty-state"
import { Notice } from "../notice"
import { PageFrame, Panel } from "../page-frame"
import { CreateKey } from "./create-key"
import { type CreateAction, KeyCreation } from "./key-creation"
import { KeyTable } from "./key-table"
import { readyToPaste } from "./ready-to-paste"
import { type RevocableKey, type RevokeAction, revocation } from "./revocation"
import { RevokeButtons } from "./revoke-buttons"
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
  const keys = await listKeys(surface, viewer.id)
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
      {typeof query.revoke === "string" && (
        <RevokePanel selected={keys.find(({ id }) => id === query.revoke)} page={page} action={revoke} now={now} />
      )}
      {keys.length === 0 ? (
        <EmptyState title="No keys yet">
          Create a key, copy it, and try it with the example that is shown with it.
        </EmptyState>
      ) : (
        <RevokeButtons keys={keys.map((key) => revocable(key, now))} action={revoke}>
          <KeyTable keys={keys} caption={title} withOwner={kinds[surface].shared} now={now} />
        </RevokeButtons>
      )}
    </PageFrame>
  )
}

function RevokePanel({
  selected,
  page,
  action,
  now,
}: {
  selected: ListedKey | undefined
  page: string
  action: RevokeAction
  now: Date
}) {
  if (!selected) return <Notice tone="warn">There is no such key on this page.</Notice>
  return (
    <ConfirmPanel
      confirmation={revocation(revocable(selected, now), action)}
      unavailable={selected.state === "revoked" && `The key “${selected.name}” is revoked.`}
      page={page}
      back="Back to the list"
    />
  )
}

function revocable({ id, name, start, lastUsedAt }: ListedKey, now: Date): RevocableKey {
  return { id, name, start, used: lastUsedAt ? relativeTime(lastUsedAt, now) : "" }
}
