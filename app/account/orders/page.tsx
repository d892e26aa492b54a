import { topUp } from "@optional/payments/top-up"
import type { Metadata } from "next"
import { GET } from "@/app/api/v1/me/orders/route"
import { Count, Day, Money, None, Status, Text } from "@/components/list/cells"
import { ListView } from "@/components/list/list-view"
import { readListing } from "@/components/list/query"
import { PageFrame } from "@/components/page/page-frame"
import { SupportLink } from "@/components/page/support-link"
import { buttonStyle } from "@/components/ui/button"
import { EmptyState } from "@/components/ui/empty-state"
import { Link } from "@/components/ui/link"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

const page = "/account/orders"

export default async function OrdersPage({ searchParams }: PageProps<"/account/orders">) {
  const viewer = await requireViewer(page)
  const listing = await readListing(page, await searchParams, (search) => GET.endpoint.read(viewer.id, search))
  return (
    <PageFrame title={entry.label} intro="Your credit purchases and subscription payments.">
      <ListView
        title={entry.label}
        page={page}
        path="/api/v1/me/orders"
        download="/account/csv/orders"
        filters={GET.endpoint.filters}
        columns={[
          { label: "Description", card: "first", cell: ({ description }) => <Text>{description}</Text> },
          { label: "Status", cell: ({ status }) => <Status value={status} /> },
          { label: "Amount", numeric: true, card: "end", cell: (order) => <Money {...order} /> },
          {
            label: "Refunded",
            numeric: true,
            cell: ({ refundedAmount, currency }) =>
              refundedAmount > 0 ? <Money amount={refundedAmount} currency={currency} /> : <None />,
          },
          {
            label: "Credits",
            numeric: true,
            cell: ({ credits, paidAt }) => (paidAt !== null && credits > 0 ? <Count value={credits} /> : <None />),
          },
          { label: "Created", sort: "createdAt", cell: ({ createdAt }) => <Day at={createdAt} /> },
          { label: "Paid", card: "none", cell: ({ paidAt }) => <Day at={paidAt} /> },
        ]}
        listing={listing}
        empty={<NoOrders />}
      />
    </PageFrame>
  )
}

function NoOrders() {
  const { href, label } = topUp() ?? { href: "/account/credits", label: "View your balance" }
  return (
    <EmptyState
      title="No orders yet"
      action={
        <Link href={href} className={buttonStyle()}>
          {label}
        </Link>
      }
    >
      {topUp() ? (
        "Plans and packs add credits."
      ) : (
        <>
          Contact <SupportLink /> to buy credits or a plan.
        </>
      )}{" "}
      Until then, your runs use your balance.
    </EmptyState>
  )
}
