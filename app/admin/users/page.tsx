import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/users/route"
import { AccountLink } from "@/components/admin/id-links"
import { ResourcePage } from "@/components/admin/resource-page"
import { Status, Text, Time } from "@/components/list/cells"
import { dueDeletions } from "@/lib/accounts/deletion"
import { plainDate } from "@/lib/platform/text/format-time"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default function UsersPage({ searchParams }: PageProps<"/admin/users">) {
  return (
    <ResourcePage
      resource="users"
      title={entry.label}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      views={[
        { label: "Banned", search: "status=banned" },
        { label: "Closed", search: "status=closed" },
      ]}
      loadRelated={(rows) => dueDeletions(rows.map(({ id }) => id))}
      columns={[
        { label: "Email", sort: "email", opens: true, cell: ({ id, email }) => <AccountLink id={id} email={email} /> },
        { label: "Name", sort: "name", cell: ({ name }) => <Text>{name}</Text> },
        { label: "Role", cell: ({ role }) => role },
        {
          label: "Status",
          cell: ({ id, status }, _, due) => (
            <>
              <Status value={status} />
              <DueDeletion at={due.get(id)} />
            </>
          ),
        },
        { label: "Signed up", sort: "createdAt", cell: ({ createdAt }) => <Time at={createdAt} /> },
      ]}
    />
  )
}

function DueDeletion({ at }: { at: Date | undefined }) {
  return at && <span className="block text-xs text-muted">Will be deleted on {plainDate(at)}</span>
}
