import { Link } from "@/components/link"
import { pageWith } from "@/components/list/query"
import { Panel } from "@/components/page-frame"
import { Untrusted } from "@/components/untrusted"
import type { Matches } from "@/lib/accounts/data"

export function AccountChoice({
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
