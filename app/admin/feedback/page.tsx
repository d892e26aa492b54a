import { randomUUID } from "node:crypto"
import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/feedback/route"
import { ResourcePage } from "@/components/admin/resource-page"
import { ConfirmPanel } from "@/components/confirm/confirm-panel"
import { Status, Text, Time } from "@/components/list/cells"
import { emailsOf } from "@/lib/accounts/data"
import { findFeedback } from "@/lib/feedback"
import { holds } from "@/lib/permissions"
import { currentViewer } from "@/lib/sign-in/browser-session"
import { actionNames, confirmationOf, isOffered } from "./feedback-actions"
import { entry } from "./navigation"
import { RowButtons } from "./row-buttons"

export const metadata: Metadata = { title: entry.label }

export default async function FeedbackPage({ searchParams }: PageProps<"/admin/feedback">) {
  const viewer = await currentViewer()
  const manages = viewer !== null && holds(viewer.role, "feedback.manage")
  const { reply, review, resolve, ...query } = await searchParams
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
      {manages && (
        <ActionPanel readsAccounts={holds(viewer.role, "users.read")} requested={{ reply, review, resolve }} />
      )}
      <ResourcePage
        resource="feedback"
        title={entry.label}
        emptyAction={{ text: "Customers send it with a form.", href: "/feedback", label: "Open the form" }}
        endpoint={GET.endpoint}
        loadRelated={async (rows, { role }): Promise<Emails> =>
          holds(role, "users.read") ? emailsOf(rows.map(({ userId }) => userId)) : undefined
        }
        searchParams={Promise.resolve(query)}
        columns={[
          { label: "Account", opens: true, cell: ({ userId }, account) => account(userId) },
          {
            label: "Rating",
            numeric: true,
            cell: ({ rating }) => <span className="whitespace-nowrap">{rating} of 5</span>,
          },
          {
            label: "Message",
            cell: ({ message }) => (
              <div className="lg:min-w-40">
                <Text>{message}</Text>
              </div>
            ),
          },
          { label: "Status", cell: ({ status }) => <Status value={status} /> },
          { label: "Created", sort: "createdAt", cell: ({ createdAt }) => <Time at={createdAt} /> },
          ...(manages
            ? [
                {
                  label: "Actions",
                  cell: ({ id, message, rating, status, userId }: Row, _: unknown, emails: Emails) => (
                    <RowButtons
                      feedback={{ id, message, rating, status, email: emails?.get(userId), requestId: randomUUID() }}
                    />
                  ),
                },
              ]
            : []),
        ]}
      />
    </div>
  )
}

type Emails = ReadonlyMap<string, string> | undefined

type Row = Awaited<ReturnType<typeof GET.endpoint.read>>["data"][number]

async function ActionPanel({
  readsAccounts,
  requested,
}: {
  readsAccounts: boolean
  requested: Record<string, string | string[] | undefined>
}) {
  const name = actionNames.find((name) => typeof requested[name] === "string")
  const feedback = name && (await findFeedback(String(requested[name])))
  if (!feedback) return null
  const { id, message, rating, status, user } = feedback
  const email = readsAccounts ? user.email : undefined
  return (
    <div className="mx-auto w-full max-w-6xl">
      <ConfirmPanel
        confirmation={confirmationOf(name, { id, message, rating, status, email, requestId: randomUUID() })}
        unavailable={!isOffered(name, feedback) && "This was already done."}
        page="/admin/feedback"
        back="Back to the list"
      />
    </div>
  )
}
