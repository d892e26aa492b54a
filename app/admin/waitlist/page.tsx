import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/waitlist/route"
import { ResourcePage } from "@/components/console/resource-page"
import { Status, Text, Time } from "@/components/list/cells"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default function WaitlistPage({ searchParams }: PageProps<"/admin/waitlist">) {
  return (
    <ResourcePage
      resource="waitlist"
      title={entry.label}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      columns={[
        { label: "Email", cell: ({ email }) => <Text>{email}</Text> },
        { label: "Note", cell: ({ note }) => <Text>{note}</Text> },
        { label: "Source", cell: ({ source }) => <Text>{source}</Text> },
        { label: "Status", cell: ({ status }) => <Status of={status} /> },
        { label: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
        { label: "Invited", cell: ({ invitedAt }) => <Time at={invitedAt} /> },
      ]}
    />
  )
}
