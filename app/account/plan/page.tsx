import type { Metadata } from "next"
import { neededForCall } from "@/app/api/v1/needed-for-call"
import { PlanCards, price } from "@/components/account/plan-cards"
import { PlanChoice } from "@/components/account/plan-choice"
import { PlanTile } from "@/components/account/plan-tile"
import { ConfirmPanel } from "@/components/confirm/confirm-panel"
import { Card } from "@/components/page/card"
import { PageFrame, Panel } from "@/components/page/page-frame"
import { SupportLink } from "@/components/page/support-link"
import { Button } from "@/components/ui/button"
import { Notice } from "@/components/ui/notice"
import { Tile, Tiles } from "@/components/ui/tile"
import type { TopUp } from "@/generated/prisma/client"
import { inCredits, shortageOf } from "@/lib/credits/words"
import { paymentProvider } from "@/lib/payments/configured"
import { bookReturn } from "@/lib/payments/returned"
import { type PlanSummary, planSummary } from "@/lib/payments/summary"
import { planPage } from "@/lib/payments/top-up"
import { agreedPack } from "@/lib/payments/top-ups"
import { plainDate, unbroken } from "@/lib/platform/text/format-time"
import { creditPacks, planCurrencies, planIntervals } from "@/lib/product"
import { type SoldPlan, soldPlan } from "@/lib/purchases/sold-plans"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { LeaveForm, PackForm, PortalForm } from "./buy-forms"
import { confirmationOf, type Question } from "./confirmations"
import { entry } from "./navigation"
import { PlanButtons } from "./plan-buttons"
import { priceOf, questionsOf } from "./questions"
import { EndTopUpForm, TopUpForm } from "./top-up-form"
import { obstacles, returns } from "./words"

export const metadata: Metadata = { title: entry.label }

export default async function PlanPage({ searchParams }: PageProps<"/account/plan">) {
  const viewer = await requireViewer(pathOf(await searchParams))
  const query = await searchParams
  const provider = paymentProvider()
  // Before the balance is read.
  const returned =
    provider && typeof query.checkout === "string" ? await bookReturn(provider, viewer.id, query.checkout) : null
  const [summary, needed] = await Promise.all([planSummary(viewer.id), neededForCall()])
  const { own, open, hasBought, topUp } = summary
  const questions = provider ? questionsOf(own) : []
  const asked = askedOf(query, questions)
  const pack = provider ? askedPack(query) : undefined
  const isPastDue = own?.subscription.status === "past_due"
  const obstacle = isPastDue ? obstacles.past_due : own?.subscription.cancelAtPeriodEnd && obstacles.ending
  const currency =
    own?.subscription.currency ?? planCurrencies.find((code) => code === query.currency) ?? planCurrencies[0]
  const interval =
    planIntervals.find((name) => name === query.interval) ??
    planIntervals.find((name) => name === own?.subscription.interval) ??
    planIntervals[0]
  const at = (choice: Record<string, string>) => `${planPage}?${new URLSearchParams({ interval, currency, ...choice })}`
  return (
    <PageFrame
      title={entry.label}
      intro="Your plan, packs of credits, and how you pay."
      actions={provider && hasBought && !isPastDue && <PortalForm />}
    >
      {returned && (
        <Notice tone={returns[returned].tone} role="status">
          {returns[returned].text}
        </Notice>
      )}
      {isPastDue && (
        <Notice tone="warn">
          <div className="flex flex-wrap items-center justify-between gap-3">
            <span>
              A payment for your plan is overdue.{" "}
              {own?.objectId ? (
                "Pay it, or change your card, before your plan ends."
              ) : (
                <>
                  Contact <SupportLink /> to pay it.
                </>
              )}
            </span>
            {provider && own?.objectId && <PortalForm />}
          </div>
        </Notice>
      )}
      {provider && open?.url && <OpenCheckout planId={open.planId} url={open.url} />}
      {asked && (
        <ConfirmPanel
          confirmation={confirmationOf(asked)}
          unavailable={asked.isGone && "This is no longer possible: your plan has changed."}
          page={planPage}
          back="Back to your plan"
        />
      )}
      {pack && (
        <Panel label={`Buy ${inCredits(pack.credits)}?`}>
          <h2 className="text-base font-semibold">Buy {inCredits(pack.credits)}?</h2>
          <p className="text-muted">
            You pay {price(pack.amount, pack.currency)} once, on the page of our payment provider. The credits are added
            at once and do not expire.
          </p>
          <PackForm {...pack} kind="primary" label="Continue to payment" text="Continue to payment" />
        </Panel>
      )}
      <Summary summary={summary} needed={needed} isSold={provider !== null} questions={questions} />
      {provider ? (
        <>
          <section aria-labelledby="plans" className="grid grid-cols-[minmax(0,1fr)] gap-4">
            <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
              <h2 id="plans" className="text-base font-semibold">
                {own ? "Change your plan" : "Plans"}
              </h2>
              <PlanChoice interval={interval} currency={own ? null : currency} at={at} />
            </div>
            {own && questions.length === 0 ? (
              <p className="text-muted">
                This plan was not bought here. To change or cancel it, write to <SupportLink />.
              </p>
            ) : (
              obstacle && <p className="text-muted">{obstacle}</p>
            )}
            <PlanButtons questions={questions}>
              <PlanCards
                currency={currency}
                interval={interval}
                action={(plan) => <PlanAction plan={plan} summary={summary} questions={questions} />}
              />
            </PlanButtons>
          </section>
          <section aria-labelledby="packs" className="grid grid-cols-[minmax(0,1fr)] gap-4">
            <h2 id="packs" className="text-base font-semibold">
              Packs of credits
            </h2>
            <ul className="grid gap-4 sm:grid-cols-3">
              {creditPacks.map(({ credits, amount }) => (
                <li
                  key={credits}
                  aria-label={inCredits(credits)}
                  className="flex flex-wrap items-center justify-between gap-3 rounded-xl border border-line bg-panel p-5"
                >
                  <div>
                    <p className="font-medium">{inCredits(credits)}</p>
                    <p className="text-muted">{price(amount, currency)} once</p>
                  </div>
                  <PackForm credits={credits} currency={currency} label={`Buy ${inCredits(credits)}`} text="Buy" />
                </li>
              ))}
            </ul>
          </section>
          <Card
            label="Automatic top-up"
            title="Automatic top-up"
            id="top-up"
            intro="When your balance falls below a number of credits, a pack is bought with your saved card."
          >
            {topUp?.pausedAt && (
              <Notice tone="warn">
                Paused since {plainDate(topUp.pausedAt)}: {pauseOf(topUp)}
              </Notice>
            )}
            {topUp && !topUp.pausedAt && <p>Automatic top-up is on.</p>}
            <TopUpForm
              settings={topUp}
              packs={Object.fromEntries(
                creditPacks.map(({ credits, amount }) => [
                  credits,
                  `${inCredits(credits)} for ${price(amount, topUp?.currency ?? currency)}`,
                ]),
              )}
              currency={topUp?.currency ?? currency}
              submit={topUp ? "Save" : "Turn on"}
            />
            {topUp && <EndTopUpForm />}
          </Card>
        </>
      ) : (
        <p className="text-muted">
          To start or change a plan or to add credits, write to <SupportLink /> from the address of your account.
        </p>
      )}
    </PageFrame>
  )
}

function pauseOf(topUp: TopUp): string {
  const { isReturned, pausedCard } = topUp
  if (!agreedPack(topUp))
    return "its pack is no longer sold, or costs more than before. It continues when you save it again."
  if (isReturned) return "a purchase was refunded or disputed. It continues when you save it again."
  return pausedCard
    ? "a payment was declined. It continues once your card changes, or when you save it again."
    : "no card is saved. It continues after your next purchase, which saves your card."
}

type Query = Awaited<PageProps<"/account/plan">["searchParams"]>

/** With the choice of the page of prices, which survives the sign-in. */
function pathOf(query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []))
  return given.length > 0 ? `${planPage}?${new URLSearchParams(given)}` : planPage
}

const kinds = ["change", "cancel", "resume", "subscribe"] as const

/**
 * Without JavaScript, a button opens the page with its name and value; `plan` comes from the page of prices. Once it is
 * done, the question no longer applies, and its form says so.
 */
function askedOf(query: Query, questions: readonly Question[]): (Question & { isGone?: true }) | undefined {
  const kind = kinds.find((kind) => query[kind] !== undefined)
  if (!kind) return questions.find(({ plan }) => plan !== "" && plan === query.plan)
  const asked = questions.find((question) => question.kind === kind && question.plan === query[kind])
  return asked ?? { kind, plan: "", title: "Your plan", text: "", submit: "", isGone: true }
}

function askedPack({ pack, currency }: Query) {
  const found = creditPacks.find(({ credits }) => String(credits) === pack)
  const code = planCurrencies.find((code) => code === currency)
  return found && code ? { ...found, currency: code } : undefined
}

function Summary({
  summary: { own, balance, owed },
  needed,
  isSold,
  questions,
}: {
  summary: PlanSummary
  needed: number | null
  isSold: boolean
  questions: readonly Question[]
}) {
  const [stop, keep] = [
    questions.find(({ kind }) => kind === "cancel"),
    questions.find(({ kind }) => kind === "resume"),
  ]
  const shortage = shortageOf(balance, needed)
  return (
    <PlanButtons questions={questions}>
      <Tiles>
        <Tile
          lead
          label="Balance"
          note={
            <>
              {shortage && <span className="block text-warn">{shortage}</span>}
              {owed > 0 && (
                <span className="block text-warn">
                  {inCredits(owed)} owed after a refund or dispute: the next credits pay them
                </span>
              )}
            </>
          }
        >
          {inCredits(balance)}
        </Tile>
        {own ? (
          <PlanTile plan={own.subscription} includes={<>and {inCredits(own.subscription.planCredits)}</>}>
            <span className="mt-2 flex flex-wrap gap-2 empty:hidden">
              {keep && (
                <Button type="submit" name="resume" value={keep.plan}>
                  {own.subscription.cancelAtPeriodEnd ? "Resume plan" : `Keep ${own.subscription.planName}`}
                </Button>
              )}
              {stop && (
                <Button
                  type="submit"
                  name="cancel"
                  value={stop.plan}
                  kind="danger-quiet"
                  className="border border-line"
                >
                  Cancel plan
                </Button>
              )}
            </span>
          </PlanTile>
        ) : (
          <Tile label="Plan" note={isSold ? "A plan adds credits every month or year." : undefined}>
            None
          </Tile>
        )}
        {own?.next && (
          <Tile
            label="Next plan"
            note={`${priceOf(own.next)} from ${unbroken(plainDate(own.subscription.currentPeriodEnd))}`}
          >
            {own.next.name}
          </Tile>
        )}
      </Tiles>
    </PlanButtons>
  )
}

function PlanAction({
  plan,
  summary: { own },
  questions,
}: {
  plan: SoldPlan
  summary: PlanSummary
  questions: readonly Question[]
}) {
  if (own?.subscription.planId === plan.id) return <p className="font-medium text-accent">Your plan</p>
  if (own?.next?.id === plan.id) return <p className="font-medium text-accent">Your next plan</p>
  const question = questions.find((question) => question.plan === plan.id)
  if (!question) return null
  return (
    <Button
      type="submit"
      name={question.kind}
      value={plan.id}
      aria-label={own ? `Change to ${plan.name}` : `Subscribe to ${plan.name}`}
      className="justify-self-start"
    >
      {own ? "Change" : "Subscribe"}
    </Button>
  )
}

function OpenCheckout({ planId, url }: { planId: string; url: string }) {
  return (
    <Notice tone="warn">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <span>
          A checkout for {soldPlan(planId)?.name ?? "a plan"} is open.{" "}
          <a href={url} className="font-medium underline">
            Continue it
          </a>
          , or close it to choose another plan.
        </span>
        <LeaveForm />
      </div>
    </Notice>
  )
}
