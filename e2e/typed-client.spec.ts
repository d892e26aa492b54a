import { execFile } from "node:child_process"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect } from "@playwright/test"
import { root } from "@/scripts/root"
import { keyOf, test } from "./fixtures"

const client = `import createClient from "openapi-fetch"
import type { paths } from "./api"

const { BASE_URL, API_KEY } = process.env
const client = createClient<paths, "application/json">({ baseUrl: String(BASE_URL), headers: { Authorization: \`Bearer \${API_KEY}\` } })
const { data: users, error } = await client.GET("/api/v1/admin/users", {
  params: { query: { limit: 3, order: "asc", role: "admin", email: "admin@example.com" } },
})
if (!users) throw new Error(error.error.message)
const email: string | undefined = users.data[0]?.email
const total: number = users.meta.total
console.log(JSON.stringify({ email, total }))
`

const mistakes = [
  ["a field", "[0]?.email", "[0]?.emial", "'emial' does not exist"],
  ["a field of meta", "meta.total", "meta.totals", "'totals' does not exist"],
  ["the type of a field", "total: number", "total: string", "'number' is not assignable to type 'string'"],
  ["the value of a filter", 'role: "admin"', 'role: "king"', '"king"\' is not assignable'],
  ["a path", '"/api/v1/admin/users"', '"/api/v1/admin/user"', '"/api/v1/admin/user"\' is not assignable'],
] as const

test("a client typed from the OpenAPI document compiles and lists users; code with mistakes does not compile", async ({
  baseURL,
}) => {
  await mkdir(join(root, ".data"), { recursive: true })
  // Inside the repository, so that npm packages resolve.
  const folder = await mkdtemp(join(root, ".data/typed-client-"))
  try {
    const tool = join(root, "scripts/api-types/node_modules/openapi-typescript/bin/cli.js")
    await node(tool, [`${baseURL}/api/v1/openapi.json`, "--output", join(folder, "api.d.ts")])
    expect(await compilerErrors(folder, { client })).toBe("")
    const env = { BASE_URL: baseURL, API_KEY: keyOf("owner") }
    const { stdout } = await node(join(folder, "client.js"), [], env)
    expect(JSON.parse(stdout)).toEqual({ email: "admin@example.com", total: 1 })

    const wrongClients = mistakes.map(([, correct, wrong], index) => {
      expect(client).toContain(correct)
      return [`mistake${index}`, client.replace(correct, wrong)] as const
    })
    const errors = (await compilerErrors(folder, Object.fromEntries(wrongClients))).split("\n")
    for (const [index, [what, , , error]] of mistakes.entries()) {
      const own = errors.filter((line) => line.includes(`mistake${index}.ts`)).join("\n")
      expect(own, what).toContain(error)
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

/** Compiles files with the types in the folder and returns the compiler's output, which is empty without errors. */
async function compilerErrors(folder: string, files: Readonly<Record<string, string>>): Promise<string> {
  const target = { target: "es2023", module: "esnext", moduleResolution: "bundler", types: ["node"] }
  const names = Object.keys(files).map((name) => `${name}.ts`)
  const config = { compilerOptions: { strict: true, ...target }, files: names }
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config))
  for (const [name, code] of Object.entries(files)) await writeFile(join(folder, `${name}.ts`), code)
  const compiled = node(join(root, "node_modules/typescript/bin/tsc"), ["--project", folder])
  return (await compiled.catch((failed: { stdout: string }) => failed)).stdout
}

function node(script: string, args: readonly string[], env: Record<string, string | undefined> = {}) {
  return promisify(execFile)(process.execPath, [script, ...args], { env: { ...process.env, ...env } })
}
