import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/emails/route"
import { ResourcePage } from "@/components/admin/resource-page"
import { Status, Text, Time } from "@/components/list/cells"
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
        { label: "Created", sort: "createdAt", cell: ({ createdAt }) => <Time at={createdAt} /> },
        { label: "To", opens: true, cell: ({ to, userId }, account) => (userId ? account(userId) : <Text>{to}</Text>) },
        { label: "Template", cell: ({ template }) => <code className="font-mono text-xs">{template}</code> },
        { label: "Subject", cell: ({ subject }) => <Text>{subject}</Text> },
        { label: "Status", cell: ({ status }) => <Status value={status} /> },
        { label: "Error", cell: ({ error }) => <Text>{error}</Text> },
      ]}
    />
  )
}
