import { endpoints } from "./endpoints"

let found: Promise<number | null> | undefined

export function neededForCall(): Promise<number | null> {
  found ??= endpoints().then((all) => {
    const costs = all.flatMap(({ metered }) => metered?.maxCost ?? [])
    return costs.length > 0 ? Math.min(...costs) : null
  })
  return found
}
