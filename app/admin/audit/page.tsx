import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/audit/route"
import { Details } from "@/components/console/cells"
import { ResourcePage } from "@/components/console/resource-page"
import { Id, Time } from "@/components/list/cells"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default function AuditPage({ searchParams }: PageProps<"/admin/audit">) {
  return (
    <ResourcePage
      resource="audit"
      title={entry.label}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      columns={[
        { label: "Time", cell: ({ createdAt }) => <Time at={createdAt} /> },
        {
          label: "Actor",
          cell: ({ actorId, action }, account) =>
            actorId ? account(actorId) : action === "user.sign_in_failed" ? "Unknown" : "System",
        },
        { label: "Action", cell: ({ action }) => <code className="font-mono text-xs">{action}</code> },
        {
          label: "Target",
          cell: ({ targetType, targetId }, account) =>
            targetType === "user" ? account(targetId) : <Id value={targetId} />,
        },
        { label: "Details", cell: ({ details }) => <Details of={details} /> },
      ]}
    />
  )
}
