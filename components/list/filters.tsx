import { CalendarDays, ListFilter, X } from "lucide-react"
import type { ReactNode } from "react"
import { Button, buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { LinkChoice } from "@/components/ui/link-choice"
import { Untrusted } from "@/components/values/untrusted"
import { sharedParameters as bounds, type Parameters } from "@/lib/api/parameters"
import { datePresets } from "./dates"
import { type Filter, filterOf, type Known } from "./filter"
import { Choice, FilterField } from "./filter-fields"
import { pageWith } from "./query"
import { QueryForm } from "./query-form"
import { SearchField } from "./search-field"

type Given = { page: string; query: URLSearchParams }

/** The fields are the parameters of the API, so that the resulting URL can be shared. */
export function Filters({
  page,
  filters,
  query,
  known,
  isNamed = false,
}: Given & { filters: Parameters; known: Known; isNamed?: boolean }) {
  const { sort, ...rest } = filters
  const all = Object.entries(rest).map(([name, schema]) => filterOf(name, schema, query, known))
  const [search] = finders.flatMap((name) => all.find((filter) => filter.name === name) ?? [])
  const others = all.filter((filter) => filter !== search)
  const limit = query.get("limit")
  return (
    <QueryForm
      action={page}
      query={String(query)}
      role="search"
      aria-label="Filters"
      className="flex flex-wrap items-center gap-2"
    >
      {search && <Finder filter={search} known={known} />}
      <DateMenu page={page} query={query} />
      <FilterMenu filters={others}>
        <div className={`grid grid-cols-2 gap-3 ${others.length > 0 ? "border-t border-line pt-3" : ""}`}>
          {sort && <FilterField filter={filterOf("sort", sort, query, {})} />}
          <Choice name="order" label="Order" given={query.get("order") ?? ""} options={sort ? directions : orders} />
        </div>
      </FilterMenu>
      {limit && <input type="hidden" name="limit" value={limit} />}
      {!isNamed && <Active page={page} query={query} filters={search?.name === "q" ? others : all} />}
    </QueryForm>
  )
}

/** In order of preference: the row shows the first of these filters that the list has. */
const finders = ["q", "userId", "actorId", "requestId"]

const orders = { "": "Newest first", asc: "Oldest first" }
const directions = { "": "Descending", asc: "Ascending" }

function Finder({
  filter: { name, label, shown, placeholder, minLength, maxLength },
  known,
}: {
  filter: Filter
  known: Known
}) {
  return (
    <SearchField
      id={`filter-${name}`}
      name={name}
      label={label}
      type="search"
      defaultValue={shown}
      placeholder={
        placeholder === undefined
          ? (known.finds ?? "Search")
          : `${label}: ${known.accounts ? "name, email or ID" : "ID"}`
      }
      minLength={minLength}
      maxLength={maxLength}
    />
  )
}

function DateMenu({ page, query }: Given) {
  const [since, until] = [query.get("since"), query.get("until")]
  return (
    <Menu id="dates" label="Date" icon={<CalendarDays aria-hidden="true" className="size-4" />} isIcon>
      <LinkChoice
        label="Range"
        choices={datePresets(new Date()).map((preset) => ({
          label: preset.label,
          href: pageWith(page, query, { since: preset.since, until: preset.until }),
          isChosen: since === preset.since && until === (preset.until ?? null),
        }))}
      />
      <Range filters={[bound("since", query), bound("until", query)]} />
      <Apply />
    </Menu>
  )
}

function FilterMenu({ filters, children }: { filters: readonly Filter[]; children: ReactNode }) {
  const times = filters.filter(({ kind }) => kind === "time")
  const others = filters.filter(({ kind }) => kind !== "time")
  const starts = times.filter(({ name }) => name.endsWith("Since"))
  const active = filters.filter(({ isActive }) => isActive).length
  return (
    <Menu id="filters" label="Filters" icon={<ListFilter aria-hidden="true" className="size-4" />} count={active}>
      {others.length > 0 && (
        <div className="grid grid-cols-2 gap-3">
          {others.map((filter) => (
            <div key={filter.name} className={filter.kind === "account" ? "col-span-2" : ""}>
              <FilterField filter={filter} />
            </div>
          ))}
        </div>
      )}
      {starts.map((start) => (
        <Range key={start.name} filters={times.filter(({ name }) => name.replace("Until", "Since") === start.name)} />
      ))}
      {children}
      <Apply />
    </Menu>
  )
}

function Menu({
  id,
  label,
  icon,
  isIcon = false,
  count = 0,
  children,
}: {
  id: "dates" | "filters"
  label: string
  icon: ReactNode
  isIcon?: boolean
  count?: number
  children: ReactNode
}) {
  return (
    <div>
      <Button popoverTarget={id} className="px-2.5">
        {icon}
        <span className={isIcon ? "max-sm:sr-only" : ""}>{label}</span>
        {count > 0 && (
          <span className="rounded-full bg-accent/10 px-1.5 text-xs text-accent">
            {count}
            <span className="sr-only"> active</span>
          </span>
        )}
      </Button>
      <div
        id={id}
        popover="auto"
        data-menu
        className="max-h-[70dvh] w-108 max-w-[calc(100vw-2rem)] gap-3 overflow-y-auto rounded-lg border border-line bg-panel p-3 text-ink shadow-lg open:grid"
      >
        {children}
      </div>
    </div>
  )
}

function Range({ filters }: { filters: readonly Filter[] }) {
  return (
    <div className="grid grid-cols-2 gap-3 border-t border-line pt-3">
      {filters.map((filter) => (
        <FilterField key={filter.name} filter={filter} />
      ))}
    </div>
  )
}

/** Where scripts run, a changed field opens the page, and the button is hidden before the page is drawn. */
export function Apply({ className = "" }: { className?: string }) {
  return (
    <Button type="submit" kind="primary" className={`justify-self-end [@media(scripting:enabled)]:hidden ${className}`}>
      Apply
    </Button>
  )
}

function Active({ page, query, filters }: Given & { filters: readonly Filter[] }) {
  const active = [...filters.map(alone), ...rangeOf(query)].filter(({ isActive }) => isActive)
  if (active.length === 0 && !query.has("q")) return null
  return (
    <ul
      aria-label="Active filters"
      className="relative -mx-4 flex items-center gap-1.5 overflow-x-auto px-4 max-sm:w-screen sm:mx-0 sm:min-w-0 sm:flex-wrap sm:px-0"
    >
      {active.map(({ name, label, text, parameters }) => (
        <li key={name} className="shrink-0">
          <Link
            href={pageWith(page, query, Object.fromEntries(parameters.map((name) => [name, undefined])))}
            className="flex min-h-9 items-center gap-1.5 rounded-md bg-accent/10 px-2 font-medium text-accent hover:bg-accent/20 sm:min-h-8"
          >
            <span className="sr-only">Remove </span>
            <span className="max-w-80 truncate">
              {label}: <Untrusted>{text}</Untrusted>
            </span>
            <X aria-hidden="true" className="size-3.5 shrink-0" />
          </Link>
        </li>
      ))}
      <li>
        <Link href={page} className={buttonStyle("quiet")}>
          Clear
        </Link>
      </li>
    </ul>
  )
}

type Removable = Filter & { parameters: readonly string[] }

function alone(filter: Filter): Removable {
  return { ...filter, parameters: [filter.name] }
}

function rangeOf(query: URLSearchParams): Removable[] {
  const [since, until] = [bound("since", query), bound("until", query)]
  const preset = datePresets(new Date()).find(
    (preset) => preset.since === since.given && (preset.until ?? "") === until.given,
  )
  return preset
    ? [{ ...since, label: "Created", text: preset.label, parameters: ["since", "until"] }]
    : [since, until].map(alone)
}

function bound(name: "since" | "until", query: URLSearchParams): Filter {
  return filterOf(name, bounds[name], query, {})
}
