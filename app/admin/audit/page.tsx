import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/audit/route"
import { ResourcePage } from "@/components/admin/resource-page"
import { Moment } from "@/components/list/cells"
import { actorWithoutAccount } from "./actor"
import { Action, Details, Target } from "./entry-cells"
import { entry } from "./navigation"
import { relate } from "./related"

export const metadata: Metadata = { title: entry.label }

export default function AuditPage({ searchParams }: PageProps<"/admin/audit">) {
  return (
    <ResourcePage
      resource="audit"
      title={entry.label}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      loadRelated={relate}
      columns={[
        { label: "Time (UTC)", sort: "createdAt", cell: ({ createdAt }) => <Moment at={createdAt} /> },
        { label: "Action", card: "first", cell: (row) => <Action {...row} /> },
        {
          label: "Actor",
          card: "rest",
          opens: true,
          cell: ({ actorId, ...entry }, account) => (actorId ? account(actorId) : actorWithoutAccount(entry)),
        },
        {
          label: "Target",
          card: "rest",
          cell: ({ targetType, targetId }, account, related) =>
            targetType === "user" ? account(targetId) : <Target type={targetType} id={targetId} related={related} />,
        },
        {
          label: "Details",
          card: "below",
          cell: ({ details }, _, related) => <Details value={details} related={related} />,
        },
      ]}
    />
  )
}
