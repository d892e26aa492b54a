/** Yours to change. `npm run rename -- SLUG "NAME"` sets the name, slug and prefixes. */
export const product = {
  name: "tsk",
  /** In the names of cookies, metrics, Redis keys, traces and skills, and of the variable that example requests read. */
  slug: "tsk",
  description: "API keys and a metered API",
  supportEmail: "support@example.com",
  /** In oklch, 0 to 359. Every hue has enough contrast: app/globals.test.ts. */
  accentHue: 262,
  /** Of the admin data API and its keys; the user API has the accent color. */
  adminHue: 330,
}

export const keyVariable = `${product.slug.toUpperCase()}_KEY`

/** New keys begin with the first prefix of their surface. Keys that begin with another one in the list keep working. */
export const keyPrefixes: { admin: Prefixes<"adm">; user: Prefixes<"usr"> } = {
  admin: ["tsk_adm_"],
  user: ["tsk_usr_"],
}

type Prefixes<Surface extends string> = readonly [`${string}_${Surface}_`, ...`${string}_${Surface}_`[]]

/**
 * Per month. Amounts are in minor units (cents), the same in every currency. A plan that was stored by `npm run db:migrate`
 * keeps its price and credits: a change needs a new slug (docs/billing.md).
 */
export const plans: AtLeastOne<{ slug: string; name: string; amount: number; credits: number }> = [
  { slug: "starter", name: "Starter", amount: 900, credits: 200 },
  { slug: "pro", name: "Pro", amount: 2_900, credits: 1_000 },
  { slug: "team", name: "Team", amount: 9_900, credits: 5_000 },
]

export const monthsPaidPerYear = 10

/** ISO 4217 in lower case. Each plan is sold in all of them, and for all intervals; the start page shows the first currency. */
export const planCurrencies: AtLeastOne<string> = ["usd", "eur"]
export const planIntervals: AtLeastOne<"month" | "year"> = ["month", "year"]

export const creditPacks: AtLeastOne<{ credits: number; amount: number }> = [
  { credits: 500, amount: 1_500 },
  { credits: 2_000, amount: 4_900 },
]

type AtLeastOne<Item> = readonly [Item, ...Item[]]
