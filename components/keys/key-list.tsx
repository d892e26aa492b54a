import type { ReactNode } from "react"
import { ConfirmPanel } from "@/components/confirm/confirm-panel"
import { controlStyle } from "@/components/form/field"
import { Apply } from "@/components/list/filters"
import { QueryForm } from "@/components/list/query-form"
import { RowKeys } from "@/components/list/row-keys"
import { chosenIn, selected } from "@/components/list/selected"
import { SelectionBar } from "@/components/list/selection"
import { Panel } from "@/components/page/page-frame"
import { buttonStyle } from "@/components/ui/button"
import { EmptyState } from "@/components/ui/empty-state"
import { Link } from "@/components/ui/link"
import { Notice } from "@/components/ui/notice"
import { RowButton } from "@/components/ui/table"
import type { ListedKey } from "@/lib/keys/data"
import { findProblems, hasProblem, type Problem, problemIn, problems } from "@/lib/keys/health"
import type { Surface } from "@/lib/surfaces"
import { KeyButtons } from "./key-buttons"
import { KeyTable, type Owners } from "./key-table"
import { KeyCreationInPage } from "./load-creation"
import {
  confirmationOf,
  obstacleTo,
  type RowForms,
  rotateForm,
  rowActionLabels,
  rowActions,
  rowKeyOf,
} from "./row-forms"

type Query = Readonly<Record<string, string | string[] | undefined>>

export function KeyList({
  keys,
  caption,
  owners = "hidden",
  page,
  query,
  offered,
  pageOf,
  forms,
  empty,
}: {
  keys: readonly ListedKey[]
  caption: string
  owners?: Owners
  page: string
  query: Query
  offered: Readonly<Record<Surface, readonly string[]>>
  pageOf: (key: ListedKey) => string | undefined
  forms?: RowForms | undefined
  empty: ReactNode
}) {
  if (keys.length === 0) return empty
  const now = new Date()
  const own = forms?.own
  const { rows, ended } = rowsOf(keys)
  const health = own ? findProblems(rows, offered, now) : new Map<string, Problem[]>()
  const problem = own && problemIn(query.health)
  const showsEnded = query.show === "all" && !problem
  const filtered = problem ? rows.filter(({ id }) => hasProblem(health.get(id), problem)) : rows
  const shown = showsEnded ? [...rows, ...ended] : filtered
  const table =
    shown.length === 0 ? (
      <EmptyState
        title={problem ? "No key has this problem" : "No active keys"}
        action={
          own && (
            <Link href={problem ? page : `${page}?new`} className={buttonStyle()}>
              {problem ? "All keys" : "Create a key"}
            </Link>
          )
        }
      />
    ) : (
      <KeyTable
        keys={shown}
        caption={caption}
        owners={owners}
        offered={offered}
        revocable={forms !== undefined}
        selectable={own !== undefined}
        ownerId={own?.viewerId}
        health={health}
        pageOf={pageOf}
        now={now}
      />
    )
  return (
    <>
      {own && <HealthFilter page={page} health={health} chosen={problem} />}
      {forms && <RowPanel keys={keys} page={page} query={query} forms={forms} now={now} />}
      {/* Always present, because its dialog can show a key. */}
      {forms ? (
        <KeyButtons keys={keys.map((key) => rowKeyOf(key, keys, key.owner.id === own?.viewerId, now))} {...forms}>
          {table}
          {own && (
            <SelectionBar>
              <RowButton danger name="revoke" value={selected}>
                {rowActionLabels.revoke}
              </RowButton>
            </SelectionBar>
          )}
        </KeyButtons>
      ) : (
        table
      )}
      {own && shown.length > 0 && <RowKeys selects />}
      {ended.length > 0 && !problem && (
        <Link href={showsEnded ? page : `${page}?show=all`} className="justify-self-start text-muted underline">
          {showsEnded ? "Hide revoked" : `Show ${ended.length} revoked`}
        </Link>
      )}
    </>
  )
}

function RowPanel({
  keys,
  page,
  query,
  forms,
  now,
}: {
  keys: readonly ListedKey[]
  page: string
  query: Query
  forms: RowForms
  now: Date
}) {
  const action = rowActions.find((name) => typeof query[name] === "string")
  if (!action) return null
  const ids = chosenIn(query, action)
  const [first, ...others] = keys.filter(({ id }) => ids.includes(id))
  if (!first) return <Notice tone="warn">This key is not on this page.</Notice>
  const { own } = forms
  const isOwn = first.owner.id === own?.viewerId
  const obstacle = others.length > 0 ? undefined : obstacleTo(action, first, isOwn)
  const key = rowKeyOf(first, keys, isOwn, now)
  const rest = others.map((other) => rowKeyOf(other, keys, other.owner.id === own?.viewerId, now))
  const confirmation = confirmationOf(action, [key, ...rest], forms)
  if (confirmation) {
    return <ConfirmPanel confirmation={confirmation} unavailable={obstacle} page={page} back={back} />
  }
  const unavailable = obstacle && (
    <Notice tone="warn">
      {obstacle}{" "}
      <Link href={page} className="underline">
        {back}
      </Link>
    </Notice>
  )
  if (!own || !isOwn) return unavailable
  return (
    <Panel label="Rotate key">
      <KeyCreationInPage creation={rotateForm(key, own)} shown={own.shown} unavailable={unavailable} />
    </Panel>
  )
}

const back = "Back to the list"

export function rowsOf(keys: readonly ListedKey[]): { rows: ListedKey[]; ended: ListedKey[] } {
  const successors = keys.filter(({ state }) => state !== "revoked")
  const inSuccessorsRow = new Set(successors.map(({ predecessor }) => predecessor?.id))
  const all = keys.filter(({ id }) => !inSuccessorsRow.has(id))
  return { rows: all.filter((key) => !hasEnded(key)), ended: all.filter(hasEnded) }
}

function hasEnded({ state, isReplaced }: ListedKey): boolean {
  return state === "revoked" || (state === "expired" && isReplaced)
}

function HealthFilter({
  page,
  health,
  chosen,
}: {
  page: string
  health: ReadonlyMap<string, readonly Problem[]>
  chosen: string | undefined
}) {
  if (health.size === 0 && chosen === undefined) return null
  const found = [...health.values()]
  const counted = (Object.keys(problems) as Problem[])
    .map((problem) => [problem, found.filter((problems) => problems.includes(problem)).length] as const)
    .filter(([problem, count]) => count > 0 || problem === chosen)
  return (
    <QueryForm
      action={page}
      query={chosen ? `health=${chosen}` : ""}
      role="search"
      aria-label="Filter"
      className="flex flex-wrap items-center gap-2"
    >
      <label htmlFor="health" className="text-muted">
        Health
      </label>
      <div className="w-56">
        <select id="health" name="health" defaultValue={chosen ?? ""} className={controlStyle}>
          <option value="">All keys</option>
          <option value="any">Any problem ({health.size})</option>
          {counted.map(([problem, count]) => (
            <option key={problem} value={problem}>
              {problems[problem]} ({count})
            </option>
          ))}
        </select>
      </div>
      {chosen && (
        <Link href={page} className={buttonStyle("quiet")}>
          Clear
        </Link>
      )}
      <Apply />
    </QueryForm>
  )
}
