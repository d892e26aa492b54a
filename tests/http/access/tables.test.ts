import { expect, test } from "vitest"
import { builtActions, builtPaths } from "@/tests/support/client"
import { isOfModule } from "@/tests/support/optional"
import { pages } from "@/tests/support/pages"
import { reviewedProof } from "../reviewed-proof"
import { formCases } from "./forms"
import { routes } from "./tables"

// Access control over HTTP, against the build: pages.test.ts, routes.test.ts and forms.test.ts send every kind of
// credential to the rows of these tables.

/** Next.js's internal pages, which have no URL. */
const internalPages = ["/_global-error", "/_not-found"]

const built = await builtPaths()
const actions = (await builtActions()).map(({ name }) => name)
const paths = pages.map(({ path }) => path)

test("the tables have a row for every page, route and action of the build", () => {
  const missingIn = (table: readonly string[], names: string[]) => names.filter((name) => !table.includes(name))
  expect({
    pages: missingIn([...paths, ...internalPages], built.pages),
    routes: missingIn(Object.keys(routes), built.routes),
    actions: missingIn(Object.keys(formCases), actions),
    proofs: missingIn(Object.keys(reviewedProof), actions),
  }).toEqual({ pages: [], routes: [], actions: [], proofs: [] })
  expect([built.pages.length, built.routes.length, actions.length].every((count) => count > 10)).toBe(true)
})

test("the tables have no other rows, except for modules that can be removed", () => {
  const existing = [...built.pages, ...built.routes, ...actions]
  const rows = [...paths, ...[routes, formCases, reviewedProof].flatMap((table) => Object.keys(table))]
  expect(rows.filter((row) => !existing.includes(row) && !isOfModule(row))).toEqual([])
})
