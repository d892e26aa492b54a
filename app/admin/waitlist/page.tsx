import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/waitlist/route"
import { ResourcePage } from "@/components/admin/resource-page"
import { ConfirmPanel } from "@/components/confirm/confirm-panel"
import { Status, Text, Time } from "@/components/list/cells"
import { Untrusted } from "@/components/values/untrusted"
import { holds } from "@/lib/permissions"
import { visible } from "@/lib/platform/text/visible-text"
import { currentViewer } from "@/lib/sign-in/browser-session"
import { findEntry } from "@/lib/waitlist/invitations"
import { invitationOf } from "./invitation"
import { InviteButton } from "./invite-button"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default async function WaitlistPage({ searchParams }: PageProps<"/admin/waitlist">) {
  const viewer = await currentViewer()
  const manages = viewer !== null && holds(viewer.role, "waitlist.manage")
  const { invite, ...query } = await searchParams
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
      {manages && typeof invite === "string" && <InvitePanel id={invite} />}
      <ResourcePage
        resource="waitlist"
        title={entry.label}
        emptyAction={{ text: "Visitors join it with a form.", href: "/waitlist", label: "Open the form" }}
        endpoint={GET.endpoint}
        searchParams={Promise.resolve(query)}
        searchPlaceholder="Email or ID"
        columns={[
          { label: "Email", cell: ({ email }) => <Address>{email}</Address> },
          { label: "Note", cell: ({ note }) => <Text>{note}</Text> },
          { label: "Source", cell: ({ source }) => <Text>{source}</Text> },
          { label: "Status", cell: ({ status }) => <Status value={status} /> },
          { label: "Created", sort: "createdAt", cell: ({ createdAt }) => <Time at={createdAt} /> },
          { label: "Invited", cell: ({ invitedAt }) => <Time at={invitedAt} /> },
          ...(manages
            ? [
                {
                  label: "Actions",
                  cell: ({ id, email, status }: Row) => <InviteButton id={id} email={email} status={status} />,
                },
              ]
            : []),
        ]}
      />
    </div>
  )
}

type Row = Awaited<ReturnType<typeof GET.endpoint.read>>["data"][number]

async function InvitePanel({ id }: { id: string }) {
  const entry = await findEntry(id)
  if (!entry) return null
  return (
    <div className="mx-auto w-full max-w-6xl">
      <ConfirmPanel
        confirmation={invitationOf(entry)}
        unavailable={entry.status === "joined" && "An account with this address has signed up."}
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
