import { LinkChoice } from "@/components/ui/link-choice"
import { planCurrencies, planIntervals } from "@/lib/product"

/** Links to other intervals and, unless it is null, to other currencies of the plans on a page. */
export function PlanChoice({
  interval,
  currency,
  at,
}: {
  interval: string
  currency: string | null
  at: (choice: { interval: string } | { currency: string }) => string
}) {
  return (
    <div className="flex flex-wrap gap-x-6 gap-y-2 empty:hidden">
      {planIntervals.length > 1 && (
        <LinkChoice
          label="Interval"
          choices={planIntervals.map((name) => ({
            label: name === "year" ? "Yearly" : "Monthly",
            href: at({ interval: name }),
            isChosen: name === interval,
          }))}
        />
      )}
      {currency && planCurrencies.length > 1 && (
        <LinkChoice
          label="Currency"
          choices={planCurrencies.map((code) => ({
            label: code.toUpperCase(),
            href: at({ currency: code }),
            isChosen: code === currency,
          }))}
        />
      )}
    </div>
  )
}
