import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { load } from "js-yaml"

export type Alert = {
  alert: string
  expr: string
  for?: string
  labels: { severity: string }
  annotations: { summary: string; runbook: string }
}

type Panel = {
  id: number
  type: string
  title: string
  gridPos: { x: number; y: number; w: number; h: number }
  datasource?: { uid: string }
  targets?: { expr: string; datasource: { uid: string } }[]
}

export type Dashboard = {
  uid: string
  title: string
  schemaVersion: number
  panels: Panel[]
  templating: { list: { name: string; query: string | { query: string } }[] }
}

/** The alerting rules of a copy of the sources: about the product, or about the database. */
export async function readAlerts(directory: string, file = "ops/alerts.yaml"): Promise<Alert[]> {
  const { groups } = load(await readFile(join(directory, file), "utf8")) as {
    groups: { rules: Alert[] }[]
  }
  return groups.flatMap(({ rules }) => rules)
}

export async function readDashboard(directory: string): Promise<Dashboard> {
  return JSON.parse(await readFile(join(directory, "ops/grafana-dashboard.json"), "utf8"))
}

/** All queries of a dashboard, including the queries of its variables. */
export function queriesOf({ panels, templating }: Dashboard): string[] {
  const ofVariables = templating.list.flatMap(({ query }) => (typeof query === "string" ? [] : query.query))
  return [...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)), ...ofVariables]
}

type Selector = { metric: string; labels: string[] }

const keywords = new Set(["or", "and", "unless", "offset"])

/** The metrics in a PromQL expression, each with the labels in its selector and in the grouping of the expression. */
export function selectorsIn(expr: string): Selector[] {
  const grouped: string[] = []
  const selectors = expr
    .replaceAll(/\[[^\]]*\]/g, "")
    .replaceAll(/label_values\((\w+), (\w+)\)/g, "sum by ($2) ($1)")
    .replaceAll(/\b(?:by|on|without|ignoring)\s*\(([^)]*)\)/g, (_, labels: string) => {
      grouped.push(...labels.split(",").map((label) => label.trim()))
      return ""
    })
    .matchAll(/\b([a-z_]\w*)\b(?:\{([^}]*)\})?(?!\s*\()/g)
  return [...selectors].flatMap(([, metric = "", matchers = ""]) => {
    const labels = [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = ""]) => label)
    return keywords.has(metric) ? [] : { metric, labels: [...labels, ...grouped] }
  })
}

/** The series that Prometheus stores for a target, by name, each with its labels. */
export function storedFrom(text: string): Map<string, Set<string>> {
  // Prometheus adds the first two labels, and renames labels of the same name.
  const added = ["job", "instance"]
  const stored = new Map<string, Set<string>>([["up", new Set(added)]])
  for (const [, name = "", labels = ""] of text.matchAll(/^([a-z_]\w*)(?:\{(.*)\})? \S+$/gm)) {
    const own = [...labels.matchAll(/(\w+)="/g)].map(([, label = ""]) =>
      added.includes(label) ? `exported_${label}` : label,
    )
    stored.set(name, new Set([...(stored.get(name) ?? added), ...own]))
  }
  return stored
}

/** The metrics and labels that these expressions use but no target has. */
export function unknownIn(exprs: readonly string[], stored: Map<string, Set<string>>): string[] {
  return exprs.flatMap(selectorsIn).flatMap(({ metric, labels }) => {
    const known = stored.get(metric)
    return known ? labels.filter((label) => !known.has(label)).map((label) => `${metric}{${label}}`) : [metric]
  })
}
