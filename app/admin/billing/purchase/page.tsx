import type { Metadata } from "next"
import { BackLink } from "@/components/page/back-link"
import { PageFrame, Panel } from "@/components/page/page-frame"
import { inCredits } from "@/lib/credits/words"
import { items } from "@/lib/payments/record-purchase"
import { planCurrencies } from "@/lib/product"
import { requirePermission } from "@/lib/sign-in/browser-session"
import { PurchaseForm } from "./purchase-form"

const title = "Record a purchase"

export const metadata: Metadata = { title }

export default async function PurchasePage({ searchParams }: PageProps<"/admin/billing/purchase">) {
  await requirePermission("/admin/billing/purchase", "billing.manage")
  const { account } = await searchParams
  return (
    <PageFrame
      back={<BackLink href="/admin/billing">Payments</BackLink>}
      title={title}
      intro="For money that arrived without the payment provider, such as by bank transfer. Creates a paid order and grants its credits."
    >
      <Panel label={title}>
        <PurchaseForm
          account={typeof account === "string" ? account : ""}
          items={{ "": "Choose a plan or a pack", ...names }}
          currencies={Object.fromEntries(planCurrencies.map((currency) => [currency, currency.toUpperCase()]))}
        />
      </Panel>
    </PageFrame>
  )
}

const names = Object.fromEntries(
  Object.entries(items).map(([key, { name, kind, credits }]) => [
    key,
    kind === "credits" ? name : `${name}: ${inCredits(credits)}`,
  ]),
)
