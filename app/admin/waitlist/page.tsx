import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/waitlist/route"
import { ResourcePage } from "@/components/admin/resource-page"
import { ConfirmPanel } from "@/components/confirm/confirm-panel"
import { Day, Status, Text } from "@/components/list/cells"
import { chosenIn, selected } from "@/components/list/selected"
import { SelectionBar } from "@/components/list/selection"
import { RowActions, RowButton, rowId } from "@/components/ui/table"
import { Untrusted } from "@/components/values/untrusted"
import { holds } from "@/lib/permissions"
import { visible } from "@/lib/platform/text/visible-text"
import { currentViewer } from "@/lib/sign-in/browser-session"
import { findEntries } from "@/lib/waitlist/invitations"
import { invitationOf, isInvitable } from "./invitation"
import { InviteButtons } from "./invite-buttons"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default async function WaitlistPage({ searchParams }: PageProps<"/admin/waitlist">) {
  const viewer = await currentViewer()
  const manages = viewer !== null && holds(viewer.role, "waitlist.manage")
  const { invite, selected: rows, ...query } = await searchParams
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
      {manages && <InvitePanel ids={chosenIn({ invite, selected: rows }, "invite")} />}
      <ResourcePage
        resource="waitlist"
        title={entry.label}
        emptyAction={{ text: "Visitors join it with a form.", href: "/waitlist", label: "Open the form" }}
        endpoint={GET.endpoint}
        searchParams={Promise.resolve(query)}
        searchPlaceholder="Email or ID"
        columns={[
          { label: "Email", card: "first", cell: ({ email }) => <Address>{email}</Address> },
          { label: "Note", card: "rest", cell: ({ note }) => <Text>{note}</Text> },
          { label: "Source", card: "none", cell: ({ source }) => <Text>{source}</Text> },
          { label: "Status", cell: ({ status }) => <Status value={status} /> },
          { label: "Created", sort: "createdAt", cell: ({ createdAt }) => <Day at={createdAt} /> },
          { label: "Invited", card: "none", cell: ({ invitedAt }) => <Day at={invitedAt} /> },
        ]}
        rowForm={
          manages
            ? {
                around: (table, rows) => (
                  <InviteButtons entries={rows.map(({ id, email, status }) => ({ id, email, status }))}>
                    {table}
                    <SelectionBar>
                      <RowButton name="invite" value={selected}>
                        Invite
                      </RowButton>
                    </SelectionBar>
                  </InviteButtons>
                ),
                nameOf: (row) => (isInvitable(row) ? row.email : undefined),
                actions: ({ id, status }) => (
                  <RowActions card="end">
                    {isInvitable({ status }) && (
                      <RowButton name="invite" value={id} aria-describedby={rowId(id)}>
                        {status === "waiting" ? "Invite" : "Invite again"}
                      </RowButton>
                    )}
                  </RowActions>
                ),
              }
            : undefined
        }
      />
    </div>
  )
}

async function InvitePanel({ ids }: { ids: readonly string[] }) {
  const entries = ids.length > 0 ? await findEntries(ids) : []
  if (entries.length === 0) return null
  return (
    <div className="mx-auto w-full max-w-6xl">
      <ConfirmPanel
        confirmation={invitationOf(entries)}
        unavailable={!entries.some(isInvitable) && "An account with this address has signed up."}
        page="/admin/waitlist"
        back="Back to the list"
      />
    </div>
  )
}

/** In one line, so that a long source or note does not squeeze the address. */
function Address({ children }: { children: string }) {
  return (
    <span title={visible(children)} className="block wrap-anywhere lg:max-w-96 lg:truncate">
      <Untrusted>{children}</Untrusted>
    </span>
  )
}
