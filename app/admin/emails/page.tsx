import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/emails/route"
import { ResourcePage } from "@/components/admin/resource-page"
import { Moment, Status, Text } from "@/components/list/cells"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default function EmailsPage({ searchParams }: PageProps<"/admin/emails">) {
  return (
    <ResourcePage
      resource="emails"
      title={entry.label}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      columns={[
        { label: "Time (UTC)", sort: "createdAt", cell: ({ createdAt }) => <Moment at={createdAt} /> },
        {
          label: "To",
          opens: true,
          card: "first",
          cell: ({ to, userId }, account) => (userId ? account(userId) : <Text>{to}</Text>),
        },
        {
          label: "Template",
          card: "none",
          cell: ({ template }) => <code className="font-mono text-xs">{template}</code>,
        },
        { label: "Subject", card: "rest", cell: ({ subject }) => <Text>{subject}</Text> },
        { label: "Status", card: "end", cell: ({ status }) => <Status value={status} /> },
        {
          label: "Error",
          card: "below",
          cell: ({ error }) => <Text>{error}</Text>,
        },
      ]}
    />
  )
}
