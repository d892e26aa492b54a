import { meteredEndpoints } from "./endpoints"

let found: Promise<number | null> | undefined

export function neededForCall(): Promise<number | null> {
  found ??= meteredEndpoints().then((all) => {
    return all.length > 0 ? Math.min(...all.map(({ metered }) => metered.maxCost)) : null
  })
  return found
}
