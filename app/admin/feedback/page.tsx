import { randomUUID } from "node:crypto"
import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/feedback/route"
import { ResourcePage } from "@/components/admin/resource-page"
import { ConfirmPanel } from "@/components/confirm/confirm-panel"
import { Day, Status, Text } from "@/components/list/cells"
import { chosenIn, selected } from "@/components/list/selected"
import { SelectionBar } from "@/components/list/selection"
import { RowActions, RowButton, rowId } from "@/components/ui/table"
import { Untrusted } from "@/components/values/untrusted"
import { accountsOf } from "@/lib/accounts/data"
import { findFeedback } from "@/lib/feedback"
import { holds } from "@/lib/permissions"
import { visible } from "@/lib/platform/text/visible-text"
import { currentViewer } from "@/lib/sign-in/browser-session"
import { actionNames, confirmationOf, isOffered, type Subject, textsOf } from "./feedback-actions"
import { FeedbackButtons } from "./feedback-buttons"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default async function FeedbackPage({ searchParams }: PageProps<"/admin/feedback">) {
  const viewer = await currentViewer()
  const manages = viewer !== null && holds(viewer.role, "feedback.manage")
  const { reply, review, resolve, selected: rows, ...query } = await searchParams
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
      {manages && (
        <ActionPanel
          readsAccounts={holds(viewer.role, "users.read")}
          requested={{ reply, review, resolve, selected: rows }}
        />
      )}
      <ResourcePage
        resource="feedback"
        title={entry.label}
        emptyAction={{ text: "Customers send it with a form.", href: "/feedback", label: "Open the form" }}
        endpoint={GET.endpoint}
        loadRelated={async (rows, { role }): Promise<Accounts> =>
          holds(role, "users.read")
            ? accountsOf(rows.flatMap(({ userId, repliedById }) => [userId, repliedById ?? userId]))
            : undefined
        }
        searchParams={Promise.resolve(query)}
        columns={[
          {
            label: "Account",
            opens: true,
            card: "first",
            // Most addresses are in one line beside long messages.
            className: "lg:[&>a]:min-w-58",
            cell: ({ userId }, account) => account(userId),
          },
          {
            label: "Rating",
            numeric: true,
            cell: ({ rating }) => <span className="whitespace-nowrap">{rating} of 5</span>,
          },
          { label: "Message", card: "below", cell: (row, _, accounts) => <Message {...row} accounts={accounts} /> },
          { label: "Status", card: "end", cell: ({ status }) => <Status value={status} /> },
          { label: "Created", sort: "createdAt", cell: ({ createdAt }) => <Day at={createdAt} /> },
        ]}
        rowForm={
          manages
            ? {
                around: (table, rows, accounts) => (
                  <FeedbackButtons
                    subjects={rows.map((row) => subjectOf(row, accounts?.get(row.userId)?.email))}
                    requestId={randomUUID()}
                  >
                    {table}
                    <SelectionBar>
                      <RowButton name="resolve" value={selected}>
                        Resolve
                      </RowButton>
                    </SelectionBar>
                  </FeedbackButtons>
                ),
                nameOf: (row, accounts) =>
                  isOffered("resolve", row)
                    ? `feedback of ${accounts?.get(row.userId)?.email ?? row.userId}`
                    : undefined,
                actions: (row) => (
                  <RowActions>
                    {actionNames
                      .filter((name) => isOffered(name, row))
                      .map((name) => (
                        <RowButton
                          key={name}
                          name={name}
                          value={row.id}
                          aria-label={textsOf(name).submit}
                          aria-describedby={rowId(row.id)}
                        >
                          {textsOf(name).label}
                        </RowButton>
                      ))}
                  </RowActions>
                ),
              }
            : undefined
        }
      />
    </div>
  )
}

type Accounts = Awaited<ReturnType<typeof accountsOf>> | undefined

type Row = Awaited<ReturnType<typeof GET.endpoint.read>>["data"][number]

function subjectOf({ id, message, rating, status, reply }: Omit<Subject, "email">, email: string | undefined): Subject {
  return { id, message, rating, status, reply, email }
}

/** A card has the message, and a table two lines: the message, or its start and the reply. The dialog has both in full. */
function Message({ message, reply, repliedAt, repliedById, accounts }: Row & { accounts: Accounts }) {
  if (reply === null || repliedAt === null) return <Text>{message}</Text>
  const author = repliedById && accounts?.get(repliedById)?.name
  return (
    <div className="lg:max-w-96 lg:min-w-40 min-[90rem]:max-w-120">
      <p title={visible(message)} className="wrap-anywhere lg:line-clamp-1">
        <Untrusted>{message}</Untrusted>
      </p>
      <p title={visible(reply)} className="line-clamp-1 text-xs text-muted wrap-anywhere max-lg:hidden">
        <Untrusted>{author || "Staff"}</Untrusted>, <Day at={repliedAt} />: <Untrusted>{reply}</Untrusted>
      </p>
    </div>
  )
}

async function ActionPanel({
  readsAccounts,
  requested,
}: {
  readsAccounts: boolean
  requested: Record<string, string | string[] | undefined>
}) {
  const name = actionNames.find((name) => typeof requested[name] === "string")
  const found = name ? await findFeedback(chosenIn(requested, name)) : []
  const [first, ...others] = found.map((row) => subjectOf(row, readsAccounts ? row.user.email : undefined))
  if (!name || !first) return null
  return (
    <div className="mx-auto w-full max-w-6xl">
      <ConfirmPanel
        confirmation={confirmationOf(name, [first, ...others], randomUUID())}
        unavailable={!found.some((feedback) => isOffered(name, feedback)) && "This was already done."}
        page="/admin/feedback"
        back="Back to the list"
      />
    </div>
  )
}
