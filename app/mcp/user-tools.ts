import type { ServedEndpoint } from "@/app/api/v1/endpoints"
import { product } from "@/lib/product"
import { postTools } from "./post-tools"
import { readRows } from "./read-rows"
import { type Session, send } from "./session"
import { datasetOf, queryOf, reading, type Tool, type Tools } from "./tool"

export const userInstructions = `One customer's own account at ${product.name}. Amounts are integers in minor units: 105 is $1.05 or ¥105. Times are UTC.`

export const userTools = (session: Session): Tools => ({
  get_account: () => getAccount(session),
  read_rows: () =>
    readRows(session, "Reads rows of the account, newest first; meta has the total, and with credits the balance."),
  ...postTools(session),
})

function getAccount(session: Session): Tool {
  const objects = session.endpoints.filter(({ method, shape }) => method === "GET" && shape === "object")
  const nameOf = (endpoint: ServedEndpoint) => datasetOf(endpoint) || "account"
  return {
    description: `Returns in one object: ${objects.map(nameOf).join(", ")}. key has the scopes and the remaining limits.`,
    annotations: reading,
    properties: () => ({}),
    call: async (given) => {
      queryOf(given, [])
      const found: [string, unknown][] = []
      for (const endpoint of objects) found.push([nameOf(endpoint), JSON.parse(await send(session, endpoint)).data])
      return JSON.stringify(Object.fromEntries(found))
    },
  }
}
