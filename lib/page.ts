import type { Prisma } from "@/generated/prisma/client"
import { snapshot } from "./db"

/** Which part of a list is asked for: parsed from the query of the API or of a console page. */
export type Page = {
  limit: number
  offset: number
  order: "asc" | "desc"
  /** Bounds on `createdAt`, both inclusive. */
  since?: Date
  until?: Date
  /** The last row already seen: what follows it is asked for, and `offset` is 0. */
  after?: Position
}

/** Where a row stands: lists are ordered by `createdAt`, then `id`. */
export type Position = { createdAt: Date; id: string }

/** What a `find` answers. `rows` may hold one row more than `page.limit`, by which the caller sees that more follow. */
export type Found<Row> = { rows: readonly Row[]; total: number; meta?: Record<string, unknown> }

/** The condition that `meta.total` counts under; the cursor is no part of it. */
function within({ since, until }: Page) {
  return since || until ? { createdAt: { ...(since && { gte: since }), ...(until && { lte: until }) } } : {}
}

/** Prisma arguments that read the page of `where`, and one row more. */
function pageOf<Where extends object>(where: Where, page: Page) {
  const { order, offset, limit, after } = page
  const beyond = order === "desc" ? "lt" : "gt"
  const seen = after && {
    AND: [
      { createdAt: { [`${beyond}e`]: after.createdAt } },
      { OR: [{ createdAt: { [beyond]: after.createdAt } }, { id: { [beyond]: after.id } }] },
    ],
  }
  return {
    where: { ...where, ...within(page), ...seen },
    orderBy: [{ createdAt: order }, { id: order }],
    skip: offset,
    take: limit + 1,
  }
}

/** The part of a Prisma model that a list reads. */
type Model<Row> = {
  findMany: (args: ReturnType<typeof pageOf<object>>) => Prisma.PrismaPromise<Row[]>
  count: (args: { where: object }) => Prisma.PrismaPromise<number>
}

/** Reads a page of one table and its total, both from the same snapshot of the database. */
export async function findIn<Row>(model: Model<Row>, where: object, page: Page): Promise<Found<Row>> {
  const [rows, total] = await snapshot(...queriesOf(model, where, page))
  return { rows, total }
}

/** The two reads of a list, for those that read more in the same snapshot: the page's rows, and how many there are. */
export function queriesOf<Row>(model: Model<Row>, where: object, page: Page) {
  return [
    model.findMany(pageOf(where, page)),
    model.count({ where: { ...where, ...within(page) } }),
  ] as const satisfies Prisma.PrismaPromise<unknown>[]
}
