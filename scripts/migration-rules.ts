/** The names and the SQL of migrations, in their order. */
export type Migrations = readonly (readonly [name: string, sql: string])[]

export type Finding = { migration: string; problem: string }

type Rule = { pattern: RegExp; problem: string }

/** For whole statements. */
const statementRules: readonly Rule[] = [
  {
    pattern: /\bDROP (TABLE|VIEW|MATERIALIZED VIEW|TYPE|DOMAIN|SCHEMA|SEQUENCE)\b/i,
    problem: "drops $1",
  },
  { pattern: /\bALTER \w+\b.*\bRENAME\b/is, problem: "renames" },
]

/** For the actions of ALTER TABLE. */
const actionRules: readonly Rule[] = [
  { pattern: /^DROP (?!CONSTRAINT\b)/i, problem: "drops a column" },
  { pattern: /\bSET NOT NULL\b/i, problem: "sets NOT NULL" },
  { pattern: /\bDROP DEFAULT\b/i, problem: "drops a default" },
  {
    pattern: /^ADD (?!CONSTRAINT\b)(?=.*\bNOT NULL\b)(?!.*\b(DEFAULT|GENERATED)\b)/is,
    problem: "adds a column that is NOT NULL without a default",
  },
]

/**
 * Objects that these migrations remove or restrict although a server of the last release may use them. SQL that a DO
 * block builds from strings is not read. prisma/migrations.test.ts observes the locks of migrations.
 */
export function findingsIn(migrations: Migrations): Finding[] {
  return migrations.flatMap(([migration, sql]) =>
    statementsOf(sql)
      .flatMap((statement) => [
        ...matching(statementRules, statement),
        ...droppedFunctions(statement, sql),
        ...actionsOf(statement).flatMap((action) => matching(actionRules, action)),
      ])
      .map((problem) => ({ migration, problem })),
  )
}

/** The name of the index that the migration builds CONCURRENTLY, as SQL. */
export function builtIndex(sql: string): string | undefined {
  return /\bCREATE (?:UNIQUE )?INDEX CONCURRENTLY (?:IF NOT EXISTS )?("?\w+"?)/i.exec(withoutComments(sql))?.[1]
}

/** Whether a DO block of the migration contains a COMMIT. */
export function commitsItself(sql: string): boolean {
  return statementsOf(sql).some((statement) => /\bCOMMIT$/i.test(statement))
}

function matching(rules: readonly Rule[], text: string): string[] {
  return rules.flatMap(({ pattern, problem }) => {
    const match = pattern.exec(text)
    return match ? [`${problem.replace("$1", match[1] ?? "")}: ${shortened(text)}`] : []
  })
}

/** The actions of ALTER TABLE: the parts between commas that are not in parentheses. */
function actionsOf(statement: string): string[] {
  const [, actions = ""] =
    /\bALTER TABLE (?:IF EXISTS )?(?:ONLY )?(?:"?\w+"?\.)?"?\w+"?\s+(.*)$/is.exec(statement) ?? []
  return actions.split(/,(?![^(]*\))/).map((action) => action.trim())
}

/** One that is created again in the same migration stays. */
function droppedFunctions(statement: string, sql: string): string[] {
  const again = new Set(namesAfter(/\bCREATE (?:OR REPLACE )?(?:FUNCTION|PROCEDURE) /, sql))
  const dropped = namesAfter(/\bDROP (?:FUNCTION|PROCEDURE|ROUTINE) (?:IF EXISTS )?/, statement)
  return dropped.filter((name) => !again.has(name)).map(() => `drops a function: ${shortened(statement)}`)
}

function namesAfter(start: RegExp, sql: string): string[] {
  const pattern = new RegExp(`${start.source}((?:"?\\w+"?\\.)?"?\\w+"?)`, "gi")
  return [...withoutComments(sql).matchAll(pattern)].map(([, name = ""]) =>
    name.replaceAll('"', "").replace(/^public\./, ""),
  )
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

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 99)}…` : text
}
