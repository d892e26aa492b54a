import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/users/route"
import { planChoices } from "@/components/admin/plan-choices"
import { ResourcePage } from "@/components/admin/resource-page"
import { Count, Day, Money, None, Status, Time } from "@/components/list/cells"
import { daysAgo } from "@/components/list/dates"
import { Link } from "@/components/ui/link"
import { Avatar } from "@/components/values/avatar"
import { Untrusted, UntrustedEmail } from "@/components/values/untrusted"
import { type Figures, figuresOf } from "@/lib/accounts/figures"
import { holds } from "@/lib/permissions"
import { isDeletedAddress } from "@/lib/platform/email/deleted-address"
import { plainDate } from "@/lib/platform/text/format-time"
import { currentViewer } from "@/lib/sign-in/browser-session"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default async function UsersPage({ searchParams }: PageProps<"/admin/users">) {
  const role = (await currentViewer())?.role ?? ""
  const since = daysAgo(29, new Date())
  return (
    <ResourcePage
      resource="users"
      title={entry.label}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      choices={planChoices}
      views={[
        { label: "Banned", search: "status=banned" },
        { label: "Closed", search: "status=closed" },
      ]}
      loadRelated={(rows, viewer) =>
        figuresOf(
          rows.map(({ id }) => id),
          since,
          viewer,
        )
      }
      columns={[
        {
          label: "Account",
          sort: "name",
          opens: true,
          card: "first",
          cell: (row, _, figures) => <Account {...row} figures={figures.get(row.id)} />,
        },
        ...(holds(role, "billing.read")
          ? [
              {
                label: "Plan",
                card: "none" as const,
                cell: ({ id }: Row, _: unknown, figures: All) => figures.get(id)?.plan ?? <None />,
              },
            ]
          : []),
        ...(holds(role, "credits.read")
          ? [
              {
                label: "Balance",
                numeric: true,
                card: "none" as const,
                cell: ({ id }: Row, _: unknown, figures: All) => <Count value={figures.get(id)?.balance ?? 0} />,
              },
            ]
          : []),
        {
          label: "Last call",
          card: "none",
          cell: ({ id }, _, figures) => <Time at={figures.get(id)?.lastCallAt?.toISOString() ?? null} />,
        },
        ...(holds(role, "billing.read")
          ? [
              {
                label: "Revenue, 30 days",
                numeric: true,
                cell: ({ id }: Row, _: unknown, figures: All) => (
                  <Revenue id={id} amounts={figures.get(id)?.revenue ?? []} since={since} />
                ),
              },
            ]
          : []),
        {
          label: "Signed up",
          sort: "createdAt",
          card: "none",
          cell: ({ createdAt }) => <Day at={createdAt} />,
        },
      ]}
    />
  )
}

type Row = Awaited<ReturnType<typeof GET.endpoint.read>>["data"][number]

type All = ReadonlyMap<string, Figures>

function Account({ id, name, email, role, status, figures }: Row & { figures: Figures | undefined }) {
  const isDeleted = isDeletedAddress(email)
  return (
    <span className="flex items-center gap-2.5">
      <Avatar id={id} name={name} picture={figures?.picture ?? null} />
      <span className="min-w-0">
        <span className="flex items-center gap-1.5">
          <Link href={`/admin/users/${id}`} className="line-clamp-1 font-medium wrap-anywhere hover:underline">
            {isDeleted ? "Deleted account" : <Untrusted>{name}</Untrusted>}
          </Link>
          {status !== "active" && <Status value={status} />}
          {role !== "member" && <span className="text-xs font-normal text-muted">{role}</span>}
        </span>
        <span className="line-clamp-1 text-xs font-normal text-muted wrap-anywhere">
          {figures?.deletedOn && `Will be deleted on ${plainDate(figures.deletedOn)} · `}
          {!isDeleted && <UntrustedEmail>{email}</UntrustedEmail>}
        </span>
      </span>
    </span>
  )
}

function Revenue({ id, amounts, since }: { id: string; amounts: NonNullable<Figures["revenue"]>; since: string }) {
  if (amounts.length === 0) return <None />
  return (
    <Link href={`/admin/orders?userId=${id}&paidSince=${since}`} className="hover:underline">
      {amounts.map(({ amount, currency }) => (
        <span key={currency} className="block">
          <Money amount={amount} currency={currency} />
        </span>
      ))}
    </Link>
  )
}
