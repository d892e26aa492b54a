import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/feedback/route"
import { ResourcePage } from "@/components/console/resource-page"
import { Status, Text, Time } from "@/components/list/cells"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default function FeedbackPage({ searchParams }: PageProps<"/admin/feedback">) {
  return (
    <ResourcePage
      resource="feedback"
      title={entry.label}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      columns={[
        { label: "Account", cell: ({ userId }, account) => account(userId) },
        { label: "Rating", numeric: true, cell: ({ rating }) => `${rating} of 5` },
        { label: "Message", cell: ({ message }) => <Text>{message}</Text> },
        { label: "Status", cell: ({ status }) => <Status of={status} /> },
        { label: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
      ]}
    />
  )
}
