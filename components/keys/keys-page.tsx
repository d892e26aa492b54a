import { randomUUID } from "node:crypto"
import { Link } from "@/components/link"
import { listKeys } from "@/lib/keys/data"
import type { Viewer } from "@/lib/sign-in/session"
import { kinds, type Surface } from "@/lib/surfaces"
import { EmptyState } from "../empty-state"
import { CreateKey } from "./create-key"
import { type CreateAction, KeyCreation } from "./key-creation"
import { KeyTable } from "./key-table"
import { readyToPaste } from "./ready-to-paste"
import { RevokeButtons } from "./revoke-buttons"
import type { RevokeAction } from "./revoke-form"
import { RevokePanel } from "./revoke-panel"
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
  run,
  create,
  revoke,
}: {
  surface: Surface
  viewer: Viewer
  query: Record<string, string | string[] | undefined>
  /** The path that "Test it now" requests; `null` when the viewer's role has no read permission. */
  testPath: string | null
  /** The metered endpoint that can be tried with a new key. */
  run: MeteredCall | null
  create: CreateAction
  revoke: RevokeAction
}) {
  const { title, page, api, prefix } = kinds[surface]
  const keys = await listKeys(surface, viewer.id)
  const creation = { page, testPath, run, action: create, requestId: randomUUID(), snippets: readyToPaste(surface) }
  const now = new Date()
  return (
    <div className="mx-auto grid max-w-6xl grid-cols-[minmax(0,1fr)] gap-6">
      <header className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="grid gap-1">
          <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
          <p className="text-muted">{intros[surface]}</p>
          <p className="text-muted">
            Keys start with <code className="font-mono text-ink">{prefix}</code> and give access to{" "}
            <code className="font-mono text-ink">{api}</code>. See the{" "}
            <Link href={`/docs/${surface}`} className="font-medium text-accent hover:underline">
              API reference
            </Link>
            .
          </p>
        </div>
        {query.new === undefined && <CreateKey {...creation} />}
      </header>
      {query.new !== undefined && (
        <section aria-label="Create key" className="grid max-w-xl gap-4 rounded-lg border border-line bg-panel p-5">
          <KeyCreation {...creation} now={now.toISOString()} />
        </section>
      )}
      {typeof query.revoke === "string" && (
        <RevokePanel keyId={query.revoke} keys={keys} page={page} action={revoke} now={now} />
      )}
      {keys.length === 0 ? (
        <EmptyState title="No keys yet">
          Create a key, copy it, and try it with the example that is shown with it.
        </EmptyState>
      ) : (
        <RevokeButtons action={revoke}>
          <KeyTable keys={keys} caption={title} withOwner={kinds[surface].shared} now={now} />
        </RevokeButtons>
      )}
    </div>
  )
}
