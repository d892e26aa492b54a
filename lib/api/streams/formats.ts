import { byteOrderMark, csvLine } from "@/lib/platform/text/csv"
import { decimal } from "@/lib/platform/text/money"
import { errorEnvelope } from "../envelope"

type Row = Readonly<Record<string, unknown>>

export type StreamFormat = {
  readonly type: string
  readonly contentType: string
  readonly start: (columns: readonly string[]) => string
  readonly row: (row: Row, columns: readonly string[]) => string
  readonly end: (total: number) => string
  /** The last line of an incomplete stream; without one, its connection is reset. */
  readonly failure?: (code: string, message: string) => string
}

export const ndjson: StreamFormat = {
  type: "application/x-ndjson",
  contentType: "application/x-ndjson",
  start: () => "",
  row: (row) => `${JSON.stringify(row)}\n`,
  end: (total) => `${JSON.stringify({ meta: { total } })}\n`,
  failure: (code, message) => `${errorEnvelope(code, message)}\n`,
}

export const csv: StreamFormat = {
  type: "text/csv",
  contentType: "text/csv; charset=utf-8",
  start: csvLine,
  row: (row, columns) => csvLine(columns.map((column) => row[column])),
  end: () => "",
}

/** For people. Programs that read the API get no byte order mark, and amounts in minor units. */
export const csvFile: StreamFormat = {
  ...csv,
  start: (columns) => byteOrderMark + csvLine(columns),
  row: (row, columns) => csv.row(withDecimals(row), columns),
}

/** Only rows with a currency have amounts of money. */
function withDecimals(row: Row): Row {
  const { currency } = row
  if (typeof currency !== "string") return row
  const cells = Object.entries(row).map(([name, value]) => {
    return [name, typeof value === "number" && /amount$/i.test(name) ? decimal(value, currency) : value]
  })
  return Object.fromEntries(cells)
}

const spellings = (name: string) => ["application", "text"].flatMap((type) => [`${type}/${name}`, `${type}/x-${name}`])

const formats: Readonly<Record<string, StreamFormat | "page">> = {
  "application/json": "page",
  "application/*": "page",
  "*/*": "page",
  ...Object.fromEntries(["ndjson", "jsonl", "jsonlines"].flatMap(spellings).map((type) => [type, ndjson])),
  ...Object.fromEntries(spellings("csv").map((type) => [type, csv])),
}

/** RFC 9110, section 12.5.1. Undefined if the client prefers a page in JSON. */
export function formatOf({ headers }: Pick<Request, "headers">): StreamFormat | undefined {
  const [preferred] = (headers.get("accept") ?? "")
    .split(",")
    .map((range) => {
      const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase())
      const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2)
      return { format: Object.hasOwn(formats, type) ? formats[type] : undefined, weight: Number(weight ?? 1) }
    })
    .filter(({ format, weight }) => format !== undefined && weight > 0)
    .sort((one, other) => other.weight - one.weight)
  return preferred?.format === "page" ? undefined : preferred?.format
}
