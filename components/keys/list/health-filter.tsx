import { Button, buttonStyle } from "@/components/button"
import { controlStyle } from "@/components/field"
import { Link } from "@/components/link"
import { QueryForm } from "@/components/query-form"
import { type Problem, problems } from "@/lib/keys/health"

/** Filters a list of keys by their problems; absent while there are none. */
export function HealthFilter({
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
      key={chosen}
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
      <Button type="submit">Apply</Button>
      {chosen && (
        <Link href={page} className={buttonStyle("quiet")}>
          Clear
        </Link>
      )}
    </QueryForm>
  )
}
