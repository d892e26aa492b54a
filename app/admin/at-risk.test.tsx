import { renderToStaticMarkup } from "react-dom/server"
import { expect, test, vi } from "vitest"
import { GET } from "@/app/api/v1/admin/subscriptions/route"
import { AtRisk } from "./at-risk"

const page = { limit: 1, offset: 0, nextCursor: null }

async function tiles(): Promise<string> {
  return renderToStaticMarkup(await AtRisk({ viewer: { role: "owner", written: 0 } }))
}

test("a number that the database does not count in time does not hide the others", async () => {
  vi.spyOn(GET.endpoint, "read").mockImplementation(async (search) => {
    if (search.startsWith("idleDays")) throw Object.assign(new Error("statement timeout"), { code: "57014" })
    return { data: [], meta: { ...page, total: 12, totalIsMinimum: false } }
  })
  const html = await tiles()
  expect(html.match(/Too many to count/g)).toHaveLength(1)
  expect(html.match(/>12</g)).toHaveLength(3)
})

test("a minimum is shown as such, and any other error fails the page", async () => {
  const read = vi.spyOn(GET.endpoint, "read")
  read.mockResolvedValue({ data: [], meta: { ...page, total: 1_000, totalIsMinimum: true } })
  expect((await tiles()).match(/>1,000\+</g)).toHaveLength(4)
  read.mockRejectedValue(new Error("a bug"))
  await expect(tiles()).rejects.toThrow("a bug")
})
