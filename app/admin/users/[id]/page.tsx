import { randomUUID } from "node:crypto"
import type { Metadata } from "next"
import { notFound } from "next/navigation"
import { z } from "zod"
import { GET } from "@/app/api/v1/admin/users/route"
import { allScopesOf } from "@/app/api/v1/scopes"
import { ConfirmPanel } from "@/components/confirm/confirm-panel"
import { KeyList } from "@/components/keys/key-list"
import { Status } from "@/components/list/cells"
import { BackLink } from "@/components/page/back-link"
import { Commands } from "@/components/page/commands"
import { PageFrame } from "@/components/page/page-frame"
import { CopyText } from "@/components/ui/copy-text"
import { Notice } from "@/components/ui/notice"
import { StatusBadge } from "@/components/ui/status-badge"
import { Avatar } from "@/components/values/avatar"
import { RelativeTime } from "@/components/values/relative-time"
import { Untrusted } from "@/components/values/untrusted"
import { type Account, findAccount } from "@/lib/accounts/overview"
import { obstacle, outranks } from "@/lib/authority/authority"
import { consolePageOf, listKeysOf } from "@/lib/keys/data"
import { holds, roleNames } from "@/lib/permissions"
import { absoluteTime } from "@/lib/platform/text/format-time"
import { waitingRequests } from "@/lib/purchases/provider-requests"
import { requirePermission, type Viewer } from "@/lib/sign-in/browser-session"
import { actionsOfAccount } from "../../row-actions"
import {
  type AccountAction,
  type Action,
  accountActions,
  actionNames,
  isAccountAction,
  refusals,
} from "./account-actions"
import { AccountTiles } from "./account-tiles"
import { UseChart, useOf } from "./account-use"
import { ActionButtons } from "./action-buttons"
import { revokeKey } from "./actions"
import { confirmationOf } from "./confirmation"
import { LastRecords } from "./last-records"
import { Notes } from "./notes"
import { accountLists, RecordLinks } from "./record-links"

export const metadata: Metadata = { title: "Account" }

export default async function AccountPage({ params, searchParams }: PageProps<"/admin/users/[id]">) {
  const { id } = await params
  const viewer = await requirePermission(`/admin/users/${id}`, GET.endpoint.permission)
  const account = z.uuid().safeParse(id).success ? await findAccount(id) : null
  if (!account) notFound()
  const query = await searchParams
  const { action: requested } = query
  const actions = availableActions(viewer, account)
  const mayAct = actionNames.some((action) => isPermitted(viewer, action))
  const { name, email, role, twoFactor, balance, createdAt } = account
  const facts = {
    account: { id, name, email, role, balance: holds(viewer.role, "credits.read") ? balance : null },
    requestId: randomUUID(),
    roles: roleNames.filter((name) => outranks(viewer.role, name)),
  }
  const isDeleted = Boolean(account.deletion?.startedAt)
  const [use, lists, links] = await Promise.all([
    useOf(id, viewer),
    accountLists(id, viewer.role),
    viewer.id === id || isDeleted ? [] : actionsOfAccount(id),
  ])
  return (
    <PageFrame
      back={<BackLink href="/admin/users">All accounts</BackLink>}
      title={
        <>
          <Avatar {...account} size="large" /> <Untrusted>{name}</Untrusted> <Status value={account.status} />
        </>
      }
      intro={
        <div className="grid gap-1">
          <p>
            <Untrusted>{email}</Untrusted> · {role} · signed up <RelativeTime date={createdAt} now={new Date()} />
          </p>
          {!isDeleted && (
            <p>
              Two-factor authentication:{" "}
              <StatusBadge tone={twoFactor ? "good" : "off"}>{twoFactor ? "On" : "Off"}</StatusBadge>
            </p>
          )}
          <CopyText label="Copy ID">{id}</CopyText>
        </div>
      }
      actions={mayAct && !isAccountAction(requested) && <ActionButtons {...facts} actions={actions} links={links} />}
    >
      <Commands
        of={actions.map((action) => ({
          label: `${accountActions[action].command} ${name}`,
          href: `/admin/users/${id}?action=${action}`,
        }))}
      />
      {isAccountAction(requested) && (
        <ConfirmPanel
          key={requested}
          confirmation={confirmationOf(requested, facts)}
          unavailable={
            !actions.includes(requested) &&
            "This action is not available for this account, or your role does not allow it."
          }
          page={`/admin/users/${id}`}
          back="Back to the account"
        />
      )}
      <DeletionNotice value={account.deletion} />
      {holds(viewer.role, "billing.read") && <WaitingRequests id={id} />}
      {!isAccountAction(requested) && <Limitation viewer={viewer} account={account} />}
      <AccountTiles account={account} role={viewer.role} use={use} />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-x-10 gap-y-8 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
        {use && <UseChart {...use} createdAt={account.createdAt} />}
        <Notes id={id} isDeleted={isDeleted} requestId={randomUUID()} viewer={viewer} />
      </div>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
        <h2 className="text-base font-semibold">API keys</h2>
        <KeyList
          keys={await listKeysOf(id, viewer)}
          caption="API keys"
          page={`/admin/users/${id}`}
          query={query}
          offered={await allScopesOf(viewer.role)}
          pageOf={(key) => consolePageOf(key, viewer)}
          forms={obstacle(viewer, account) === null && !account.deletion?.startedAt ? { revoke: revokeKey } : undefined}
          empty={<p className="text-muted">No keys.</p>}
        />
      </div>
      <LastRecords account={account} lists={lists} />
      <RecordLinks lists={lists} />
    </PageFrame>
  )
}

function Limitation({ viewer, account }: { viewer: Viewer; account: Account }) {
  if (!actionNames.some((action) => isPermitted(viewer, action))) {
    return <p className="text-muted">Ask an owner or admin to grant credits, revoke keys, or ban this account.</p>
  }
  const reason = account.status === "closed" && !account.deletion ? "closed" : obstacle(viewer, account)
  return reason && reason !== "not_permitted" && <p className="text-muted">{refusals[reason]}</p>
}

function DeletionNotice({ value: deletion }: { value: Account["deletion"] }) {
  if (!deletion) return null
  if (deletion.startedAt) return <Notice tone="warn">The personal data of this account was deleted on request.</Notice>
  return (
    <Notice tone="warn">
      Will be deleted on {absoluteTime(deletion.dueAt)}.{" "}
      {deletion.undoable
        ? "Until then, its owner can sign in and undo the deletion, unless the account is banned."
        : "Its owner cannot undo the deletion."}
    </Notice>
  )
}

const requested = {
  cancel_now: "the end of the subscription",
  cancel_at_period_end: "the end of the subscription with its period",
  forget_customer: "the deletion of the customer",
  refund: "a refund",
} as const

async function WaitingRequests({ id }: { id: string }) {
  const waiting = await waitingRequests(id)
  if (waiting.length === 0) return null
  const what = [...new Set(waiting.map(({ action }) => requested[action]))].join(", ")
  return <Notice tone="warn">The payment provider has not done this yet, and is asked again: {what}.</Notice>
}

function availableActions(viewer: Viewer, account: Account): AccountAction[] {
  const { deletion } = account
  const reachable = obstacle(viewer, account) === null
  return actionNames.filter((action) => {
    const { permission, statuses, whileLeaving = [] }: Action = accountActions[action]
    if (viewer.id === account.id || (permission === "users.manage" && !reachable)) return false
    if (action === "removePicture" && account.picture === null) return false
    // Staff closed the account, so that nobody can return to it.
    if (action === "ban" && deletion?.undoable === false) return false
    const available = deletion ? whileLeaving : statuses
    return isPermitted(viewer, action) && !deletion?.startedAt && available.includes(account.status)
  })
}

function isPermitted(viewer: Viewer, action: AccountAction): boolean {
  return holds(viewer.role, accountActions[action].permission)
}
