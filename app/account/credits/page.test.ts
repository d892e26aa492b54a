import { expect, test, vi } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { pool } from "@/lib/platform/postgres/pool"
import { requireViewer, type Viewer } from "@/lib/sign-in/browser-session"
import { createUser } from "@/tests/support/factories"
import CreditsPage from "./page"

vi.mock("@/lib/sign-in/browser-session", () => ({ requireViewer: vi.fn() }))

test("a filtered page of the ledger reads nothing for the forecast and the charts, which it does not show", async () => {
  const { id } = await createUser()
  vi.mocked(requireViewer).mockResolvedValue({ id: id as OwnerId, role: "member" } as Viewer)
  const query = vi.spyOn(pool(), "query")
  const readsDays = async (params: Record<string, string>) => {
    query.mockClear()
    await CreditsPage({ params: Promise.resolve({}), searchParams: Promise.resolve(params) })
    expect(query).toHaveBeenCalled()
    return query.mock.calls.some(([statement]) => (statement as { name?: string }).name === "credit-days")
  }
  expect(await readsDays({})).toBe(true)
  for (const params of [{ since: "2026-01-01" }, { offset: "50" }]) expect(await readsDays(params)).toBe(false)
})
