import { existsSync } from "node:fs"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Script } from "node:vm"
import { writeMigration } from "./new-migration"
import { format, runProgram } from "./package-program"
import { root } from "./root"

// Writes the files and lines of a new table, page, form, metered endpoint or email.
// Tests name what a change of them needs; docs/checklists.md says what no test can know.

const usage = `npm run new -- table captions     a table of accounts with a list in each API, two pages and a permission
npm run new -- module captions    a table that only the console and the admin API list, as an optional module
npm run new -- page captions      a page of an account
npm run new -- form captions      a form that adds a row, on the page of the table captions
npm run new -- deletion captions  a button in each row of that page: it deletes the row and writes the audit log
npm run new -- metered captions   an endpoint of the user API that costs credits
npm run new -- email caption_made an email

Columns follow a table, a module or a form: title:text size:number sent_at:time status:draft,sent
A form asks for texts and numbers. A status starts as its first word. Without columns there is one: text:text

Several at once, where the form has the columns of the table: npm run new -- table captions title:text form captions
Names are in lower case, with _ between words; the name of a table ends in s.`

/** For the formatter. */
const touched = new Set<string>()

type Names = ReturnType<typeof namesOf>

type Item = { kind: string; name: string; columns: readonly Column[] }

const kinds: Record<string, (names: Names, columns: readonly Column[]) => Promise<void>> = {
  table,
  module,
  page,
  form,
  deletion,
  metered,
  email,
}

const models = await readFile(join(root, "prisma/schema.prisma"), "utf8")
const items = itemsOf(process.argv.slice(2))
if (items.length === 0) fail("Say what to write.")
for (const { kind, name, columns } of items) {
  if (!Object.hasOwn(kinds, kind)) fail(`"${kind}" is none of ${Object.keys(kinds).join(", ")}.`)
  if (!isName(name)) fail(`"${name}" is not a name.`)
  if (isTable(kind) && !name.endsWith("s")) fail(`The name of a table is a plural, and "${name}" is none.`)
  // Before anything is written: an error later would leave half of the lines.
  const taken = placesOf(kind, namesOf(name)).find((file) => existsSync(join(root, file)))
  if (taken) fail(`${taken} exists.`)
  if (isTable(kind) && new RegExp(`@@map\\("${name}"\\)|^model ${namesOf(name).One} `, "m").test(models))
    fail(`prisma/schema.prisma has a model ${namesOf(name).One}, or a table ${name}.`)
  if (columns.length > 0 && !isTable(kind) && kind !== "form") fail(`A ${kind} has no columns.`)
  for (const column of columns) {
    const others = columns.filter((other) => other !== column).map(({ name }) => name)
    if (["id", "user", "user_id", "created_at", "request_id", ...others].includes(column.name))
      fail(`The name ${column.name} is taken in the table ${name}.`)
    if (isReserved(column.field)) fail(`${column.name} is a reserved word of JavaScript.`)
  }
  if ((kind === "form" || kind === "deletion") && !tableOf(name) && !(await hasListPage(name)))
    fail(`Make the table first: npm run new -- table ${name}`)
}
for (const { kind, name, columns } of items) {
  const given = [columns, tableOf(name)?.columns ?? []].find(({ length }) => length > 0)
  await kinds[kind]?.(namesOf(name), given ?? [columnOf(name, "text:text")])
}
const tables = items.flatMap(({ kind, name }) => (isTable(kind) ? [name] : []))
if (tables.length > 0) {
  const migration = await writeMigration(["add", ...tables].join("_"))
  if (migration) console.log(`Wrote ${migration}. Review it before you apply it.`)
}
format([...touched])
// A test that makes a copy writes the examples at the end.
if (!process.env.WITHOUT_EXAMPLES) {
  runProgram("prisma/build/index.js", "generate")
  runProgram("vitest/vitest.mjs", "run", "--project=unit", "--reporter=dot", "app/api/v1/examples.test.ts", "--update")
}
process.exit(0)

function itemsOf([kind, name = "", ...rest]: readonly string[]): Item[] {
  if (kind === undefined) return []
  const next = rest.findIndex((word) => !word.includes(":"))
  const end = next === -1 ? rest.length : next
  return [
    { kind, name, columns: rest.slice(0, end).map((given) => columnOf(name, given)) },
    ...itemsOf(rest.slice(end)),
  ]
}

function tableOf(name: string): Item | undefined {
  return items.find((item) => item.kind === "table" && item.name === name)
}

function isTable(kind: string): boolean {
  return kind === "table" || kind === "module"
}

/** The files and folders that a kind makes. */
function placesOf(kind: string, { path }: Names): string[] {
  const ofTable = [`lib/${path}`, `lib/${path}.ts`, `app/api/v1/admin/${path}`, `app/admin/${path}`]
  const ofList = [`app/api/v1/me/${path}`, `app/account/${path}`]
  const places: Record<string, string[]> = {
    table: [...ofTable, ...ofList],
    module: ofTable,
    page: [`app/account/${path}`],
    form: [`lib/${path}-form.ts`, `app/account/${path}/actions.ts`],
    deletion: [`lib/${path}-deletion.ts`, `app/account/${path}/deletion.tsx`],
    metered: [`app/api/v1/me/${path}`],
  }
  return places[kind] ?? []
}

/** A column in the texts of the sources. A form asks for a column with `input`. */
type Column = {
  name: string
  field: string
  label: string
  type: string
  /** In the schema of the database. */
  attributes: readonly string[]
  schema: string
  cell: string
  input?: { schema: string; attributes: string; sample: string; value: string }
  status?: { type: string; words: readonly string[]; map: string }
}

function columnOf(table: string, given: string): Column {
  const [name = "", type = ""] = given.split(":")
  if (!isName(name)) fail(`"${name}" is not a name of a column.`)
  const field = camel(name)
  const label = sentence(name)
  const mapped = field === name ? [] : [`@map("${name}")`]
  const common = { name, field, label, attributes: mapped }
  if (type === "text") {
    const schema = `plainText({ name: "The ${label.toLowerCase()}", max: 200 })`
    const input = { schema, attributes: "", sample: '"Mine"', value: '"Mine"' }
    return { ...common, type: "String", schema: "untrustedText", cell: `<Text>{${field}}</Text>`, input }
  }
  if (type === "number") {
    const schema = 'z.string().regex(/^[0-9]{1,9}$/, "Enter a whole number.").transform(Number)'
    const input = { schema, attributes: ' inputMode="numeric"', sample: '"3"', value: "3" }
    return { ...common, type: "Int", schema: "z.int()", cell: `<Count value={${field}} />`, input }
  }
  if (type === "time") {
    const attributes = [...mapped, "@db.Timestamptz(3)"]
    return { ...common, type: "DateTime?", attributes, schema: "timestamp.nullable()", cell: `<Day at={${field}} />` }
  }
  const words = type.split(",")
  if (words.length < 2 || !words.every(isName) || new Set(words).size < words.length)
    fail(`"${given}" must be a name and text, number, time or at least two words, such as status:draft,sent.`)
  const { one, One } = namesOf(table)
  const status = { type: One + capital(field), words, map: `${table.replace(/s$/, "")}_${name}` }
  const attributes = [`@default(${words[0]})`, ...mapped]
  const schema = one + capital(field)
  return { ...common, type: status.type, attributes, schema, cell: `<Status value={${field}} />`, status }
}

/** Whether the account has a page with the list of the table. */
async function hasListPage(name: string): Promise<boolean> {
  const page = await readFile(join(root, `app/account/${namesOf(name).path}/page.tsx`), "utf8").catch(() => "")
  return page.includes("<ListView")
}

/** Fields become names of variables. */
function isReserved(word: string): boolean {
  try {
    new Script(`"use strict"; async () => { const ${word} = 0 }`)
    return false
  } catch {
    return true
  }
}

function isName(text: string): boolean {
  return /^[a-z]+(_[a-z]+)*$/.test(text)
}

function namesOf(name: string) {
  const words = name.replaceAll("_", " ")
  const singular = name.replace(/ies$/, "y").replace(/s$/, "")
  return {
    /** In the database. */
    name,
    /** In a sentence. */
    words,
    /** In URLs and names of files. */
    path: name.replaceAll("_", "-"),
    label: sentence(name),
    /** Of variables and types. */
    many: camel(name),
    one: camel(singular),
    Many: capital(camel(name)),
    One: capital(camel(singular)),
  }
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widthOf = (place: number) => Math.max(...rows.map((row) => row[place]?.length ?? 0))
  const [first, second] = [widthOf(0), widthOf(1)]
  return rows
    .map(([name = "", type = "", ...rest]) =>
      `  ${name.padEnd(first)} ${type.padEnd(second)} ${rest.join(" ")}`.trimEnd(),
    )
    .join("\n")
}

async function table(names: Names, columns: readonly Column[]): Promise<void> {
  const { words, path, one, Many } = names
  await addTable(names, columns)
  await create(`app/api/v1/me/${path}/route.ts`, {
    'import { userList } from "@/lib/api/lists"': "",
    [`import { find${Many}, ${one}Row } from "@/lib/${path}"`]: `
${exported("userList")}
  summary: "Lists the ${words} of the key's owner",
  row: ${one}Row,
  find: find${Many},
})`,
  })
  await addLines("tests/yours/reviewed.ts", "access", `"/api/v1/me/${path}": "user key",`)
  await addPage(names, listPage(names, columns))
}

async function module(names: Names, columns: readonly Column[]): Promise<void> {
  await addTable(names, columns)
  await addLines("tests/yours/reviewed.ts", "modules", `"${names.path}",`)
}

async function addTable(names: Names, columns: readonly Column[]): Promise<void> {
  const { name, words, path, many, one, Many, One } = names
  const statuses = columns.filter(({ status }) => status)
  const lines = (line: (column: Column) => string) => columns.map(line).join("\n")
  await append(
    "prisma/yours.prisma",
    `model ${One} {
${aligned([
  ["id", "String", "@id @default(uuid(7)) @db.Uuid"],
  ["userId", "String", '@map("user_id") @db.Uuid'],
  ...columns.map((column) => [column.field, column.type, ...column.attributes]),
  ["createdAt", "DateTime", '@default(now()) @map("created_at") @db.Timestamptz(3)'],
])}

  user User @relation(fields: [userId], references: [id])

  @@index([createdAt(sort: Desc), id(sort: Desc)])
  @@index([userId, createdAt(sort: Desc), id(sort: Desc)])
${statuses.map(({ field }) => `  @@index([${field}, createdAt(sort: Desc), id(sort: Desc)])`).join("\n")}
  @@map("${name}")
}`,
  )
  for (const { status } of columns) {
    if (!status) continue
    const { type, words, map } = status
    await append("prisma/yours.prisma", `enum ${type} {\n  ${words.join("\n  ")}\n\n  @@map("${map}")\n}`)
  }
  // Releases add relations at the end.
  await edit("prisma/schema.prisma", (text) => text.replace("model User {\n", `$&  ${many} ${One}[]\n`))
  await append(
    "prisma/yours.sql",
    `GRANT SELECT, INSERT, DELETE ON ${name} TO :"role"; -- customers add their own, and erasure deletes them`,
  )
  await addLines(
    "lib/yours/tables.ts",
    "tables",
    `${name}: {
    personal: {
      rows: ofUser,
      file: { name: "${path}", about: "your ${words}" },
      erasure: "rows",
      columns: {
        id: [own, gone],
        user_id: [internal, gone],
${lines((column) => `        ${column.name}: [own, gone],`)}
        created_at: [own, gone],
      },
    },
  },`,
  )
  await addImports("lib/yours/tables.ts", { "@/lib/personal-table": ["gone", "internal", "ofUser", "own"] })
  await addLines("lib/yours/permissions.ts", "permissions", `"${name}.read": "Read the ${words} of every account",`)
  const fields = ["id", "timestamp", "untrustedText"].filter(
    (field) => field !== "untrustedText" || columns.some(({ schema }) => schema === field),
  )
  await create(`lib/${path}.ts`, {
    'import { z } from "zod"': "",
    ...(statuses.length > 0 && {
      [`import { ${statuses.map(({ type }) => type).join(", ")} } from "@/generated/prisma/enums"`]: "",
    }),
    'import { listed } from "@/lib/platform/postgres/listed"': "",
    [`import { ${fields.join(", ")} } from "@/lib/platform/schemas/fields"`]: `
${statuses.map(({ type, schema }) => `export const ${schema} = z.enum(${type})\n`).join("")}
export const ${one}Row = z.object({
  id,
  userId: id.describe("The account that it belongs to"),
${lines(({ field, schema }) => `  ${field}: ${schema},`)}
  createdAt: timestamp,
})

export const find${Many} = listed("${name}", ${one}Row)`,
  })
  await create(`app/api/v1/admin/${path}/route.ts`, {
    'import { adminList } from "@/lib/api/lists"': "",
    'import { id } from "@/lib/platform/schemas/fields"': "",
    [`import { ${[`find${Many}`, `${one}Row`, ...statuses.map(({ schema }) => schema)].join(", ")} } from "@/lib/${path}"`]: `
${exported("adminList")}
  summary: "Lists the ${words} of all accounts",
  permission: "${name}.read",
  filters: { ${statuses.map(({ field, schema }) => `${field}: ${schema}, `).join("")}userId: id },
  row: ${one}Row,
  find: find${Many},
})`,
  })
  await create(`app/admin/${path}/navigation.ts`, {
    'import { Table2 } from "lucide-react"': "",
    'import { adminPage, type NavigationEntry } from "@/app/_shell/sections"': "",
    [`import { GET } from "@/app/api/v1/admin/${path}/route"`]: `
export const entry: NavigationEntry = {
  ...adminPage(GET),
  section: "Customers",
  after: "/admin/users",
  label: "All ${words}",
  icon: Table2,
}`,
  })
  await create(`app/admin/${path}/page.tsx`, {
    'import type { Metadata } from "next"': "",
    [`import { GET } from "@/app/api/v1/admin/${path}/route"`]: "",
    'import { ResourcePage } from "@/components/admin/resource-page"': "",
    [`import { ${cellsOf(columns)} } from "@/components/list/cells"`]: "",
    'import { entry } from "./navigation"': `
export const metadata: Metadata = { title: entry.label }

export default function ${Many}Page({ searchParams }: PageProps<"/admin/${path}">) {
  return (
    <ResourcePage
      resource="${path}"
      title={entry.label}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      columns={[
        { label: "Account", opens: true, card: "first", cell: ({ userId }, account) => account(userId) },
${lines((column) => cellOf(column, `card: "${cardOf(column, columns)}", `))}
        { label: "Created", sort: "createdAt", cell: ({ createdAt }) => <Day at={createdAt} /> },
      ]}
    />
  )
}`,
  })
  await addLines("tests/yours/reviewed.ts", "access", `"/api/v1/admin/${path}": "${name}.read",`)
  await addLines("tests/yours/reviewed.ts", "holders", `"${name}.read": "owner admin analyst",`)
  for (const column of columns.filter(({ cell }) => cell.startsWith("<Text>")))
    await addLines("tests/yours/reviewed.ts", "shown", `"${name}.${column.name}": "${name}.read",`)
  await addLines(
    "tests/yours/reviewed.ts",
    "pages",
    `{
    after: "/admin/users/[id]",
    path: "/admin/${path}",
    access: "${name}.read",
    title: "All ${words}",
    sidebar: "administration",
    isList: true,
    opens: "/admin/users/[id]",
  },`,
  )
}

function cellOf({ label, field, cell }: Column, card = ""): string {
  return `        { label: "${label}", ${card}cell: ({ ${field} }) => ${cell} },`
}

function cellsOf(columns: readonly Column[]): string {
  return [...new Set(["Day", ...columns.map(componentOf)])].sort().join(", ")
}

function componentOf({ cell }: Column): string {
  return /\w+/.exec(cell)?.[0] ?? ""
}

/** The two lines of a card have room for the first status, text and number. */
function cardOf(column: Column, columns: readonly Column[]): string {
  const component = componentOf(column)
  const cards: Record<string, string> = { Status: "end", Text: "rest", Count: "named" }
  const isFirst = columns.find((other) => componentOf(other) === component) === column
  return (isFirst && cards[component]) || "none"
}

async function page(names: Names): Promise<void> {
  const { path, Many } = names
  await addPage(names, {
    'import type { Metadata } from "next"': "",
    'import { Text } from "@/components/list/cells"': "",
    'import { PageFrame } from "@/components/page/page-frame"': "",
    'import { requireViewer } from "@/lib/sign-in/browser-session"': "",
    'import { entry } from "./navigation"': `
export const metadata: Metadata = { title: entry.label }

export default async function ${Many}Page() {
  const viewer = await requireViewer("/account/${path}")
  return (
    <PageFrame title={entry.label}>
      <p>Your name</p>
      <Text>{viewer.name}</Text>
    </PageFrame>
  )
}`,
  })
}

async function form({ path, one, One }: Names, columns: readonly Column[]): Promise<void> {
  const asked = columns.flatMap((column) => (column.input ? [{ ...column, ...column.input }] : []))
  const entered = asked.map(({ field, sample }) => `${field}: ${sample}`).join(", ")
  const stored = asked.map(({ field, value }) => `${field}: ${value}`).join(", ")
  const page = `app/account/${path}/page.tsx`
  // Not beside the row: the API's listener has no Prisma.
  await create(`lib/${path}-form.ts`, {
    'import { z } from "zod"': "",
    'import type { OwnerId } from "@/lib/authority/owner"': "",
    'import { db } from "@/lib/platform/postgres/prisma"': "",
    'import { requestId } from "@/lib/platform/schemas/form-fields"': "",
    ...(asked.some(({ schema }) => schema.startsWith("plainText")) && {
      'import { plainText } from "@/lib/platform/schemas/text"': "",
    }),
    "": `
export const ${one}Form = z.strictObject({ requestId,
${asked.map(({ field, schema }) => `  ${field}: ${schema},`).join("\n")}
})

/** A form that is sent twice adds one row: the id is that of the form. @returns whether it was added now */
export async function add${One}(owner: OwnerId, form: z.output<typeof ${one}Form>): Promise<boolean> {
  const { requestId, ...values } = form
  const data = { id: requestId, userId: owner, ...values }
  const { count } = await db().${one}.createMany({ data, skipDuplicates: true })
  return count === 1
}`,
  })
  await create(`app/account/${path}/actions.ts`, {
    '"use server"\n': "",
    'import { revalidatePath } from "next/cache"': "",
    'import { done, formAction } from "@/lib/form/action"': "",
    [`import { add${One}, ${one}Form } from "@/lib/${path}-form"`]: `
export const add = formAction({
  fields: ${one}Form,
  permission: null,
  fresh: false,
  act: async (form, { viewer }) => {
    await add${One}(viewer.id, form)
    revalidatePath("/account/${path}")
    return done()
  },
})`,
  })
  await edit(page, (text) =>
    text
      .replace(
        'import type { Metadata } from "next"\n',
        'import { randomUUID } from "node:crypto"\nimport type { Metadata } from "next"\n',
      )
      .replace(
        /^(?=import .* from "@\/components\/list\/cells")/m,
        'import { RequestId, SubmitButton, TextField } from "@/components/form/fields"\nimport { Form } from "@/components/form/form"\n',
      )
      .replace("{ PageFrame }", "{ PageFrame, Panel }")
      .replace(
        'import { entry } from "./navigation"',
        'import { add } from "./actions"\nimport { entry } from "./navigation"',
      )
      .replace(
        "      <ListView\n",
        `      <Panel label="Add">
        <Form action={add} done={<p>Added. <a href="/account/${path}" className="underline">Add another</a></p>}>
          <RequestId id={randomUUID()} />
${asked.map(({ field, label, attributes }) => `          <TextField label="${label}" name="${field}"${attributes} required />`).join("\n")}
          <SubmitButton className="justify-self-start">Add</SubmitButton>
        </Form>
      </Panel>
      <ListView
`,
      ),
  )
  await addLines("tests/yours/reviewed.ts", "proof", `"account/${path} add": "changes no way in and no right",`)
  await addLines(
    "tests/yours/forms.ts",
    "forms",
    `"account/${path} add": {
    access: "accounts",
    path: "/account/${path}",
    prepare: async ({ id: userId }) => ({
      fields: { requestId: randomUUID(), ${entered} },
      isDone: async () => (await db().${one}.count({ where: { userId, ${stored} } })) === 1,
    }),
  },`,
  )
  await addImports("tests/yours/forms.ts", {
    "node:crypto": ["randomUUID"],
    "@/lib/platform/postgres/prisma": ["db"],
  })
}

async function deletion({ path, label, one, One }: Names): Promise<void> {
  const page = `app/account/${path}/page.tsx`
  const [, shown = "id"] = /<Text>\{(\w+)\}<\/Text>/.exec(await readFile(join(root, page), "utf8")) ?? []
  const noun = label.replace(/s$/, "").toLowerCase()
  await create(`lib/${path}-deletion.ts`, {
    'import { z } from "zod"': "",
    'import { audit } from "@/lib/audit/entries"': "",
    'import type { OwnerId } from "@/lib/authority/owner"': "",
    'import { db } from "@/lib/platform/postgres/prisma"': "",
    'import { hidden } from "@/lib/platform/schemas/form-fields"': `
export const ${one}Deletion = z.strictObject({ id: hidden(z.uuid()) })

/** @returns whether the account had the row */
export async function delete${One}(owner: OwnerId, { id }: z.output<typeof ${one}Deletion>): Promise<boolean> {
  return db().$transaction(async (transaction) => {
    const { count } = await transaction.${one}.deleteMany({ where: { id, userId: owner } })
    if (count === 0) return false
    await audit(transaction, { actorId: owner, action: "${one}.deleted", targetType: "user", targetId: owner })
    return true
  })
}`,
  })
  const actions = `app/account/${path}/actions.ts`
  if (!existsSync(join(root, actions))) await create(actions, { '"use server"': "" })
  await addImports(actions, {
    "next/cache": ["revalidatePath"],
    "@/lib/form/action": ["done", "formAction", "type Message", "refused"],
    [`@/lib/${path}-deletion`]: [`delete${One}`, `${one}Deletion`],
  })
  await append(
    actions,
    `export const remove = formAction({
  fields: ${one}Deletion,
  permission: null,
  fresh: false,
  act: async (form, { viewer }) => {
    if (!(await delete${One}(viewer.id, form))) return refused("This ${noun} does not exist any more. Reload the page.")
    revalidatePath("/account/${path}")
    return done<Message>("The ${noun} is deleted.")
  },
})`,
  )
  await create(`app/account/${path}/deletion.tsx`, {
    'import type { Confirmation } from "@/components/confirm/confirm-form"': "",
    'import { Untrusted } from "@/components/values/untrusted"': "",
    'import { remove } from "./actions"': `
export function deletionOf(id: string, shown: string): Confirmation {
  return {
    title: "Delete this ${noun}?",
    description: (
      <>
        “<Untrusted>{shown}</Untrusted>” is deleted and cannot be restored.
      </>
    ),
    action: remove,
    fields: <input type="hidden" name="id" value={id} />,
    submit: "Delete ${noun}",
    kind: "danger",
  }
}`,
  })
  await create(`app/account/${path}/delete-button.tsx`, {
    '"use client"\n': "",
    'import { ConfirmButtons } from "@/components/confirm/confirm-buttons"': "",
    'import { Button } from "@/components/ui/button"': "",
    'import { deletionOf } from "./deletion"': `
export function DeleteButton({ id, shown }: { id: string; shown: string }) {
  return (
    <ConfirmButtons confirmationOf={(value) => deletionOf(value, shown)}>
      <Button type="submit" name="delete" value={id} kind="danger-quiet" className="lg:h-7">
        Delete
      </Button>
    </ConfirmButtons>
  )
}`,
  })
  await addImports(page, {
    "@/components/confirm/confirm-panel": ["ConfirmPanel"],
    "./deletion": ["deletionOf"],
    "./delete-button": ["DeleteButton"],
  })
  await edit(page, (text) =>
    text
      .replace(
        "const listing = await readListing(page, await searchParams,",
        `// Without JavaScript, a button opens the page with its row in the query.
  const { delete: selected, ...query } = await searchParams
  const listing = await readListing(page, query,`,
      )
      .replace(
        "  return (\n",
        `  const row = "data" in listing.found ? listing.found.data.find(({ id }) => id === selected) : undefined
  return (
`,
      )
      .replace(
        "<PageFrame title={entry.label}>\n",
        `$&      {typeof selected === "string" && (
        <ConfirmPanel
          confirmation={deletionOf(selected, row?.${shown} ?? "")}
          unavailable={!row && "This ${noun} is not on this page. It may be deleted already."}
          page={page}
          back="Back to the list"
        />
      )}
`,
      )
      .replace(
        /(\n *)\]\}\n( *listing=)/,
        `$1  { label: "Actions", cell: ({ id${shown === "id" ? "" : `, ${shown}`} }) => <DeleteButton id={id} shown={${shown}} /> },$1]}\n$2`,
      ),
  )
  await addLines("lib/yours/audit.ts", "actions", `"${one}.deleted": "${label.replace(/s$/, "")} deleted",`)
  await addLines("tests/yours/reviewed.ts", "proof", `"account/${path} remove": "changes no way in and no right",`)
  await addLines(
    "tests/yours/forms.ts",
    "forms",
    `"account/${path} remove": {
    access: "accounts",
    path: "/account/${path}",
    prepare: async ({ id: userId }) => {
      const id = await insertYourRow(userId)
      return { fields: { id }, isDone: async () => (await db().${one}.count({ where: { id } })) === 0 }
    },
  },`,
  )
  await addLines(
    "tests/yours/audit.ts",
    "acts",
    `"${one}.deleted": async (owner) => delete${One}(owner, { id: await insertYourRow(owner) }),`,
  )
  await addImports("tests/yours/forms.ts", {
    "@/lib/platform/postgres/prisma": ["db"],
    "@/tests/support/your-rows": ["insertYourRow"],
  })
  await addImports("tests/yours/audit.ts", {
    [`@/lib/${path}-deletion`]: [`delete${One}`],
    "@/tests/support/your-rows": ["insertYourRow"],
  })
}

async function metered({ path }: Names): Promise<void> {
  await create(`app/api/v1/me/${path}/route.ts`, {
    'import { z } from "zod"': "",
    'import { userMetered } from "@/lib/api/metered"': `
const maxCost = 2

${exported("userMetered")}
  summary: \`Counts the characters of a text; costs 1 credit for each 500, at most \${maxCost}\`,
  maxCost,
  body: z.strictObject({
    text: z.string().min(1, "must not be empty").max(1_000).meta({ description: "The text", examples: ["A text."] }),
  }),
  result: z.object({ characters: z.int().describe("Characters of the text") }),
  work: async ({ text }) => ({ result: { characters: text.length }, cost: Math.ceil(text.length / 500) }),
})`,
  })
  await addLines("tests/yours/reviewed.ts", "access", `"/api/v1/me/${path}": "user key",`)
}

async function email({ name, label }: Names): Promise<void> {
  await addLines(
    "lib/yours/emails.ts",
    "templates",
    `${name}: ({ text }: { text: string }) => ({ subject: "${label}", body: [text] }),`,
  )
  await addImports("tests/yours/emails.ts", { "@/tests/support/hostile-text": ["hostile"] })
  await addLines("tests/yours/emails.ts", "facts", `${name}: [{ text: hostile }],`)
}

function listPage({ path, Many }: Names, columns: readonly Column[]): Record<string, string> {
  return {
    'import type { Metadata } from "next"': "",
    [`import { GET } from "@/app/api/v1/me/${path}/route"`]: "",
    [`import { ${cellsOf(columns)} } from "@/components/list/cells"`]: "",
    'import { ListView } from "@/components/list/list-view"': "",
    'import { readListing } from "@/components/list/query"': "",
    'import { PageFrame } from "@/components/page/page-frame"': "",
    'import { EmptyState } from "@/components/ui/empty-state"': "",
    'import { requireViewer } from "@/lib/sign-in/browser-session"': "",
    'import { entry } from "./navigation"': `
export const metadata: Metadata = { title: entry.label }

const page = "/account/${path}"

export default async function ${Many}Page({ searchParams }: PageProps<"/account/${path}">) {
  const viewer = await requireViewer(page)
  const listing = await readListing(page, await searchParams, (search) => GET.endpoint.read(viewer.id, search))
  return (
    <PageFrame title={entry.label}>
      <ListView
        title={entry.label}
        page={page}
        path="/api/v1/me/${path}"
        download="/account/csv/${path}"
        filters={GET.endpoint.filters}
        columns={[
${columns.map((column) => cellOf(column)).join("\n")}
          { label: "Created", sort: "createdAt", cell: ({ createdAt }) => <Day at={createdAt} /> },
        ]}
        listing={listing}
        empty={<EmptyState title="Nothing here yet" />}
      />
    </PageFrame>
  )
}`,
  }
}

async function addPage({ path, label }: Names, source: Record<string, string>): Promise<void> {
  await create(`app/account/${path}/page.tsx`, source)
  await create(`app/account/${path}/navigation.ts`, {
    'import { Table2 } from "lucide-react"': "",
    'import type { NavigationEntry } from "@/app/_shell/sections"': `
export const entry: NavigationEntry = {
  area: "account",
  after: "/account/orders",
  label: "${label}",
  icon: Table2,
  permission: null,
}`,
  })
  await addLines(
    "tests/yours/reviewed.ts",
    "pages",
    `{ after: "/account/orders", path: "/account/${path}", access: "accounts", title: "${label}", sidebar: "account" },`,
  )
}

function exported(wrapper: string): string {
  return `export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = ${wrapper}({`
}

/** The lines of a file: imports, and after the last one its text. */
async function create(file: string, lines: Record<string, string>): Promise<void> {
  const target = join(root, file)
  if (existsSync(target)) fail(`${file} exists.`)
  await mkdir(dirname(target), { recursive: true })
  const text = Object.entries(lines).map(([line, rest]) => line + rest && `${line}\n${rest}`)
  await writeFile(target, `${text.join("").replace(/\n$/, "")}\n`)
  touched.add(file)
  console.log(`Wrote ${file}`)
}

async function append(file: string, text: string): Promise<void> {
  await edit(file, (before) => `${before}\n${text}\n`)
}

/** Adds lines to the end of an object or array that a file exports. */
async function addLines(file: string, constant: string, lines: string): Promise<void> {
  const empty = new RegExp(`(export const ${constant}\\b[^\\n]* = [{[])([}\\]].*)`)
  const short = new RegExp(`(export const ${constant}\\b[^\\n]* = \\[)([^\\n]+)(\\])`)
  const filled = new RegExp(`(export const ${constant}\\b[^\\n]* = [{[]\\n[\\s\\S]*?)(\\n[}\\]])`)
  await edit(file, (text) => {
    if (short.test(text))
      return text.replace(short, (_, start, items, end) => `${start}\n  ${items},\n  ${lines}\n${end}`)
    if (empty.test(text)) return text.replace(empty, (_, start, end) => `${start}\n  ${lines}\n${end}`)
    if (!filled.test(text)) throw new Error(`${file} exports no ${constant}.`)
    return text.replace(filled, (_, start, end) => `${start}\n  ${lines}${end}`)
  })
}

/** Adds the imports that the file lacks. @param imports the names by their module */
async function addImports(file: string, imports: Readonly<Record<string, readonly string[]>>): Promise<void> {
  const text = await readFile(join(root, file), "utf8")
  const isImported = (name: string) => new RegExp(`^import [^;"]*\\b${name}\\b[^;"]* from "`, "m").test(text)
  const lines = Object.entries(imports).flatMap(([module, names]) => {
    const missing = names.filter((name) => !isImported(name))
    return missing.length > 0 ? [`import { ${missing.join(", ")} } from "${module}"`] : []
  })
  const [, directive = "", rest = text] = /^("use \w+"\n)([\s\S]*)/.exec(text) ?? []
  await writeFile(join(root, file), directive + [...lines, rest].join("\n"))
  touched.add(file)
}

async function edit(file: string, change: (text: string) => string): Promise<void> {
  const text = await readFile(join(root, file), "utf8")
  const changed = change(text)
  if (changed === text) throw new Error(`Nothing to change was found in ${file}.`)
  await writeFile(join(root, file), changed)
  if (file.endsWith(".ts") || file.endsWith(".tsx")) touched.add(file)
  console.log(`Changed ${file}`)
}

function camel(text: string): string {
  return text.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** As a label: `sent_at` is `Sent at`. */
function sentence(name: string): string {
  return capital(name.replaceAll("_", " "))
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function fail(problem: string): never {
  console.error(`${problem}\n\n${usage}`)
  process.exit(1)
}
