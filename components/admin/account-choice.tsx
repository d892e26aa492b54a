import { redirect } from "next/navigation"
import type { ReactNode } from "react"
import { accountFilters } from "@/components/list/filter"
import { cleanQuery, pageWith } from "@/components/list/query"
import { Panel } from "@/components/page/page-frame"
import { Link } from "@/components/ui/link"
import { Untrusted } from "@/components/values/untrusted"
import { findAccounts, findIdByEmail, type Matches } from "@/lib/accounts/data"
import { type Parameters, searchParameter } from "@/lib/api/parameters"
import { isUuid } from "@/lib/platform/schemas/text"

/** @returns undefined when every account is already an id */
export async function openWithIds(
  page: string,
  filters: Parameters,
  params: Record<string, string | string[] | undefined>,
): Promise<{ refused: string; choice?: ReactNode } | undefined> {
  const query = cleanQuery(page, params)
  const given = accountFilters.flatMap((name) => {
    const typed = query.get(name)?.trim()
    return typed && !isUuid(typed) && Object.hasOwn(filters, name) ? [{ name, typed }] : []
  })
  if (given.length === 0) return undefined
  const meant = await Promise.all(given.map(async (asked) => ({ ...asked, found: await accountsMeant(asked.typed) })))
  const ids: Record<string, string> = {}
  for (const { name, typed, found } of meant) {
    if (typeof found === "string") ids[name] = found
    else if ("refused" in found) return found
    else {
      const choice = <AccountChoice page={page} query={query} name={name} typed={typed} {...found} />
      return { refused: "Choose an account.", choice }
    }
  }
  redirect(pageWith(page, query, ids))
}

async function accountsMeant(typed: string): Promise<string | Matches | { refused: string }> {
  const id = await findIdByEmail(typed)
  if (id) return id
  const term = searchTerm.safeParse(typed)
  if (!term.success) return { refused: `A name or a part of an address ${term.error.issues[0]?.message}.` }
  const found = await findAccounts(term.data)
  if (!found) return { refused: `Too many accounts match “${typed}”.` }
  const [account] = found.accounts
  if (!account) return { refused: `No account matches “${typed}”.` }
  return found.accounts.length + found.others === 1 ? account.id : found
}

const searchTerm = searchParameter({ table: "users", account: "id" })

function AccountChoice({
  page,
  query,
  name,
  typed,
  accounts,
  others,
}: Matches & {
  page: string
  query: URLSearchParams
  name: string
  typed: string
}) {
  return (
    <Panel label="Accounts that match">
      <p role="status">
        {accounts.length + others} accounts match “<Untrusted>{typed}</Untrusted>”. Choose one
        {others > 0 && `; these are the newest ${accounts.length}`}.
      </p>
      <ul className="-mx-2 grid">
        {accounts.map(({ id, email, name: holder }) => (
          <li key={id}>
            <Link
              href={pageWith(page, query, { [name]: id })}
              className="flex min-h-9 flex-wrap items-center gap-x-3 rounded-md px-2 py-1 hover:bg-sunken"
            >
              <span className="font-medium wrap-anywhere text-accent">
                <Untrusted>{email}</Untrusted>
              </span>
              <span className="text-muted wrap-anywhere">
                <Untrusted>{holder}</Untrusted>
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
