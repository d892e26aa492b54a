import { Readable } from "node:stream"
import { ZipFile } from "yazl"
import type { OwnerId } from "@/lib/authority/owner"
import type { PersonalTable } from "@/lib/personal-table"
import type { Snapshot } from "@/lib/platform/postgres/cursor"
import type { Chunks } from "@/lib/platform/queues/stream-slots"
import { plainDate } from "@/lib/platform/text/format-time"
import { product } from "@/lib/product"
import { personalTables } from "./personal-data"

type File = { table: string; name: string; about: string; of: PersonalTable }

const files: readonly File[] = personalTables().flatMap(([table, of]) =>
  "name" in of.file ? [{ table, ...of.file, of }] : [],
)

/** A ZIP of one snapshot, written while it is read, a batch of rows at a time. */
export function exportOf(owner: OwnerId, snapshot: Snapshot): Chunks {
  const zip = new ZipFile()
  const output = zip.outputStream as Readable
  let current: Readable | undefined
  zip.on("error", (error) => output.destroy(error))
  zip.addBuffer(Buffer.from(readme()), "README.txt")
  for (const file of files) {
    zip.addReadStreamLazy(`${file.name}.json`, (ready) => {
      current = Readable.from(jsonOf(file, owner, snapshot), { objectMode: false })
      // yazl passes on the data of a stream, but not its errors.
      current.on("error", (error) => output.destroy(error))
      ready(null, current)
    })
  }
  zip.end()
  const written = output[Symbol.asyncIterator]()
  function read() {
    const reading = written.next()
    // It can fail before `next` waits for it.
    reading.catch(() => {})
    return reading
  }
  let following = read()
  return {
    async next() {
      const chunk: Uint8Array = (await following).value
      following = read()
      const isLast = (await following).done === true
      if (isLast) await snapshot.close()
      return { chunk, rows: 0, isLast }
    },
    abort() {
      snapshot.abort()
      current?.destroy()
      output.destroy()
    },
  }
}

async function* jsonOf({ table, of }: File, owner: OwnerId, snapshot: Snapshot): AsyncGenerator<Buffer> {
  const next = await snapshot.read({ text: statementOf(table, of), values: [owner] })
  let before = "[\n"
  for (let rows = await next(); rows.length > 0; rows = await next()) {
    yield Buffer.from(before + (rows as { row: string }[]).map(({ row }) => row).join(",\n"))
    before = ",\n"
  }
  yield Buffer.from(before === "[\n" ? "[]\n" : "\n]\n")
}

function statementOf(table: string, { rows, columns }: PersonalTable): string {
  const fields = Object.entries(columns).flatMap(([column, [exported]]) => {
    if (exported === true) return [`'${fieldOf(column)}', "${column}"`]
    return "sql" in exported ? [`'${fieldOf(column)}', ${exported.sql}`] : []
  })
  const order = "created_at" in columns ? "ORDER BY created_at" : ""
  return `SELECT json_build_object(${fields.join(", ")})::text AS row FROM ${table} WHERE ${rows} ${order}`
}

function fieldOf(column: string): string {
  return column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function readme(): string {
  const left = personalTables().flatMap(([, { file }]) => ("without" in file ? [`- ${file.without}`] : []))
  return `${[
    `The data that ${product.name} stores about you, on ${plainDate(new Date())}. Each file contains JSON. Times are in UTC, and amounts of money in minor units of their currency (cents of USD); amounts in credits.json are credits.`,
    files.map(({ name, about }) => `- ${name}.json: ${about}`).join("\n"),
    `Passwords, API keys and links are stored as hashes, which are not in these files. The names of ${product.name} staff and your own actions on other accounts are left out, too.`,
    "These are not in the files either:",
    left.join("\n"),
    `Questions? Write to ${product.supportEmail}.`,
  ].join("\n\n")}\n`
}
