import { createHash } from "node:crypto"
import { expect, test } from "vitest"
import { GET as adminSkill } from "@/app/api/v1/admin/skill.md/route"
import { GET as userSkill } from "@/app/api/v1/me/skill.md/route"
import { GET as llms } from "@/app/llms.txt/route"
import { GET } from "./route"

const served = { "/api/v1/admin/skill.md": adminSkill, "/api/v1/me/skill.md": userSkill }

function get(route: (request: Request) => Promise<Response>, path: string) {
  return route(new Request(`http://localhost:3000${path}`))
}

test("the index of agent skills names every skill document with the digest of what is served", async () => {
  const index = await (await get(GET, "/.well-known/agent-skills/index.json")).json()
  expect(index.$schema).toBe("https://schemas.agentskills.io/discovery/0.2.0/schema.json")
  expect(index.skills.map(({ url }: { url: string }) => url)).toEqual(Object.keys(served))
  for (const { name, type, description, url, digest } of index.skills) {
    const text = await (await get(served[url as keyof typeof served], url)).text()
    expect(type).toBe("skill-md")
    expect(text).toContain(`name: ${name}\ndescription: ${description}\n`)
    expect(digest).toBe(`sha256:${createHash("sha256").update(text).digest("hex")}`)
  }
})

test("llms.txt leads to both skill documents and to OpenAPI", async () => {
  const text = await (await get(llms, "/llms.txt")).text()
  for (const path of [...Object.keys(served), "/api/v1/openapi.json"])
    expect(text).toContain(`(http://localhost:3000${path})`)
})

test("the user's skill document names the user endpoints, their fields, and no admin endpoint", async () => {
  const text = await (await get(userSkill, "/api/v1/me/skill.md")).text()
  for (const path of ["/api/v1/me", "/api/v1/me/orders", "/api/v1/me/subscription"])
    expect(text).toContain(`### GET ${path}\n`)
  expect(text).toContain("`cancelAtPeriodEnd`")
  expect(text).not.toContain("/api/v1/admin")
  expect(text.length / 4).toBeLessThan(5_000)
})
