import { createHash } from "node:crypto"
import { expect, test } from "vitest"
import { GET as adminSkill } from "@/app/api/v1/admin/skill.md/route"
import { GET as userSkill } from "@/app/api/v1/me/skill.md/route"
import { GET as llms } from "@/app/llms.txt/route"
import { GET } from "./route"

const skills = { "/api/v1/admin/skill.md": adminSkill, "/api/v1/me/skill.md": userSkill }

function get(route: (request: Request) => Promise<Response>, path: string) {
  return route(new Request(`http://localhost:3000${path}`))
}

test("the agent skills index lists every skill document with the SHA-256 digest of its content", async () => {
  const index = await (await get(GET, "/.well-known/agent-skills/index.json")).json()
  expect(index.$schema).toBe("https://schemas.agentskills.io/discovery/0.2.0/schema.json")
  expect(index.skills.map(({ url }: { url: string }) => url)).toEqual(Object.keys(skills))
  for (const { name, type, description, url, digest } of index.skills) {
    const text = await (await get(skills[url as keyof typeof skills], url)).text()
    expect(type).toBe("skill-md")
    expect(text).toContain(`name: ${name}\ndescription: ${description}\n`)
    expect(digest).toBe(`sha256:${createHash("sha256").update(text).digest("hex")}`)
  }
})

test("llms.txt links to both skill documents and to the OpenAPI document", async () => {
  const text = await (await get(llms, "/llms.txt")).text()
  for (const path of [...Object.keys(skills), "/api/v1/openapi.json"])
    expect(text).toContain(`(http://localhost:3000${path})`)
})

test("the user skill document describes the user endpoints and their fields, and no admin endpoint", async () => {
  const text = await (await get(userSkill, "/api/v1/me/skill.md")).text()
  for (const path of ["/api/v1/me", "/api/v1/me/orders", "/api/v1/me/subscription"])
    expect(text).toContain(`### GET ${path}\n`)
  expect(text).toContain("; cancelAtPeriodEnd")
  expect(text).not.toContain("/api/v1/admin")
  expect(text.length / 4).toBeLessThan(5_000)
})
