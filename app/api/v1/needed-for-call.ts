import { endpoints } from "./endpoints"

let found: Promise<number | null> | undefined

/** The least balance with which a metered call starts: the maximum cost of the cheapest; null if there is no such call. */
export function neededForCall(): Promise<number | null> {
  found ??= endpoints().then((all) => {
    const costs = all.flatMap(({ metered }) => metered?.maxCost ?? [])
    return costs.length > 0 ? Math.min(...costs) : null
  })
  return found
}
