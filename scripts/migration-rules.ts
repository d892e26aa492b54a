/** The names and the SQL of migrations, in their order. */
export type Migrations = readonly (readonly [name: string, sql: string])[]

export type Finding = {
  migration: string
  problem: string
  /** Whether it takes away what an earlier version uses; everything else locks or rewrites a table that may be big. */
  takesAway: boolean
}

type Rule = { pattern: RegExp; problem: string; takesAway: boolean }

/** For whole statements. */
const statementRules: readonly Rule[] = [
  {
    pattern: /\bDROP (TABLE|VIEW|MATERIALIZED VIEW|TYPE|DOMAIN|SCHEMA|SEQUENCE)\b/i,
    problem: "drops $1",
    takesAway: true,
  },
  { pattern: /\bALTER \w+\b.*\bRENAME\b/is, problem: "renames", takesAway: true },
]

/** For the actions of ALTER TABLE. */
const actionRules: readonly Rule[] = [
  { pattern: /^DROP (?!CONSTRAINT\b)/i, problem: "drops a column", takesAway: true },
  { pattern: /\bSET NOT NULL\b/i, problem: "sets NOT NULL", takesAway: true },
  { pattern: /\bDROP DEFAULT\b/i, problem: "drops a default", takesAway: true },
  {
    pattern: /^ADD (?!CONSTRAINT\b)(?=.*\bNOT NULL\b)(?!.*\b(DEFAULT|GENERATED)\b)/is,
    problem: "adds a column that is NOT NULL without a default",
    takesAway: true,
  },
]

/** For the actions of ALTER TABLE on a table that the last release has. */
const lockingRules: readonly Rule[] = [
  {
    pattern: /^ALTER .*\bTYPE\b/is,
    problem: "changes the type of a column, which rewrites the table",
    takesAway: false,
  },
  {
    pattern:
      /^ADD (?!CONSTRAINT\b).*\b(GENERATED|SERIAL|BIGSERIAL|DEFAULT (?!(now|CURRENT_TIMESTAMP)\b)[\w."]+\s*\()/is,
    problem: "adds a column whose values differ by row, which rewrites the table",
    takesAway: false,
  },
  {
    pattern: /^ADD (CONSTRAINT|CHECK|FOREIGN KEY|PRIMARY KEY|UNIQUE)\b(?!.*\b(NOT VALID|USING INDEX)\b)/is,
    problem: "adds a constraint without NOT VALID, or without USING INDEX of an index that was built before",
    takesAway: false,
  },
]

/**
 * What in these migrations would break a server of the last release, or lock a table for long. SQL that a DO block puts
 * together from strings is not read: prisma/migrations.test.ts runs the migrations and looks at their locks.
 */
export function findingsIn(migrations: Migrations): Finding[] {
  const created = new Set(migrations.flatMap(([, sql]) => namesAfter(/\bCREATE TABLE (?:IF NOT EXISTS )?/, sql)))
  return migrations.flatMap(([migration, sql]) => {
    const statements = statementsOf(sql)
    const findings = statements.flatMap((statement) => [
      ...matching(statementRules, statement),
      ...droppedFunctions(statement, sql),
      ...indexProblems(statement, statements.length, created),
      ...rowProblems(statement, created),
      ...tableProblems(statement, created),
    ])
    return findings.map((finding) => ({ migration, ...finding }))
  })
}

/** The name of the index that the migration builds CONCURRENTLY, as SQL. */
export function builtIndex(sql: string): string | undefined {
  return /\bCREATE (?:UNIQUE )?INDEX CONCURRENTLY (?:IF NOT EXISTS )?("?\w+"?)/i.exec(withoutComments(sql))?.[1]
}

/** Whether a DO block of the migration commits what it has done so far. */
export function commitsItself(sql: string): boolean {
  return statementsOf(sql).some((statement) => /\bCOMMIT$/i.test(statement))
}

type Found = Omit<Finding, "migration">

function matching(rules: readonly Rule[], text: string): Found[] {
  return rules.flatMap(({ pattern, problem, takesAway }) => {
    const match = pattern.exec(text)
    return match ? [{ problem: `${problem.replace("$1", match[1] ?? "")}: ${shortened(text)}`, takesAway }] : []
  })
}

function tableProblems(statement: string, created: ReadonlySet<string>): Found[] {
  const [, table = "", actions = ""] =
    /\bALTER TABLE (?:IF EXISTS )?(?:ONLY )?((?:"?\w+"?\.)?"?\w+"?)\s+(.*)$/is.exec(statement) ?? []
  const rules = created.has(bare(table)) ? actionRules : [...actionRules, ...lockingRules]
  return listOf(actions).flatMap((action) => matching(rules, action))
}

function indexProblems(statement: string, count: number, created: ReadonlySet<string>): Found[] {
  if (/\bINDEX CONCURRENTLY\b/i.test(statement)) {
    return count === 1
      ? []
      : [locking("builds or drops an index CONCURRENTLY, but not alone in its migration", statement)]
  }
  // ONLY: the index of a partitioned table, which is built for none of its partitions.
  const [, table = ""] = /\bCREATE (?:UNIQUE )?INDEX\b.*?\bON (?!ONLY\b)((?:"?\w+"?\.)?"?\w+"?)/is.exec(statement) ?? []
  return table && !created.has(bare(table)) ? [locking("builds an index without CONCURRENTLY", statement)] : []
}

function rowProblems(statement: string, created: ReadonlySet<string>): Found[] {
  const [, table = ""] = /^(?:UPDATE|DELETE FROM) (?:ONLY )?((?:"?\w+"?\.)?"?\w+"?)/i.exec(statement) ?? []
  return table && !created.has(bare(table)) ? [locking("changes rows, which backfills do in batches", statement)] : []
}

/** One that is created again in the same migration stays. */
function droppedFunctions(statement: string, sql: string): Found[] {
  const again = new Set(namesAfter(/\bCREATE (?:OR REPLACE )?(?:FUNCTION|PROCEDURE) /, sql))
  const dropped = namesAfter(/\bDROP (?:FUNCTION|PROCEDURE|ROUTINE) (?:IF EXISTS )?/, statement)
  return dropped
    .filter((name) => !again.has(name))
    .map(() => ({ problem: `drops a function: ${shortened(statement)}`, takesAway: true }))
}

function locking(problem: string, statement: string): Found {
  return { problem: `${problem}: ${shortened(statement)}`, takesAway: false }
}

function namesAfter(start: RegExp, sql: string): string[] {
  const pattern = new RegExp(`${start.source}((?:"?\\w+"?\\.)?"?\\w+"?)`, "gi")
  return [...withoutComments(sql).matchAll(pattern)].map(([, name = ""]) => bare(name))
}

/** A name without its schema and quotation marks. */
function bare(name: string): string {
  return name.replaceAll('"', "").replace(/^public\./, "")
}

/** The statements, with those in DO blocks, and without the bodies of functions, which a migration does not run. */
function statementsOf(sql: string): string[] {
  return withoutComments(sql)
    .replaceAll(/\bAS\s+(\$\w*\$).*?\1/gis, "AS ''")
    .split(";")
    .map((statement) => statement.replaceAll(/\s+/g, " ").trim())
    .filter(Boolean)
}

function withoutComments(sql: string): string {
  return sql.replaceAll(/--[^\n]*|\/\*.*?\*\//gs, " ")
}

/** The parts of a list between commas that are not in parentheses. */
function listOf(text: string): string[] {
  const parts = [""]
  let depth = 0
  for (const character of text) {
    if (character === "(") depth++
    if (character === ")") depth--
    if (character === "," && depth === 0) parts.push("")
    else parts.push(`${parts.pop()}${character}`)
  }
  return parts.map((part) => part.trim()).filter(Boolean)
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 99)}…` : text
}
