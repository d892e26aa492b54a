import { buttonStyle } from "@/components/button"
import { Link } from "@/components/link"
import { Notice } from "@/components/notice"
import { type AccountAction, accountActions, type Subject } from "./account-actions"
import { ActionFacts } from "./action-facts"
import { type Act, ActionForm, type FormFacts } from "./action-form"

/** The confirmation in the page, where no script opens a dialog. The form stands there also once it is carried out: it says so. */
export function ActionPanel({
  action,
  account,
  act,
  applies,
  ...facts
}: Omit<FormFacts, "id"> & { action: AccountAction; account: Subject; act: Act; applies: boolean }) {
  const page = `/admin/users/${account.id}`
  return (
    <section aria-label={accountActions[action].label} className="max-w-xl rounded-lg border border-line bg-panel p-5">
      <ActionForm
        {...facts}
        id={account.id}
        action={action}
        act={act}
        intro={
          <div className="grid gap-3">
            <h2 className="text-base font-semibold">{accountActions[action].title}</h2>
            {/* They tell of the balance, which is for those alone who may change it. */}
            {applies && (
              <p className="text-muted">
                <ActionFacts action={action} account={account} />
              </p>
            )}
          </div>
        }
        notNow={!applies && <NotNow page={page} />}
        cancel={
          <Link href={page} className={buttonStyle()}>
            Cancel
          </Link>
        }
      />
    </section>
  )
}

function NotNow({ page }: { page: string }) {
  return (
    <Notice tone="warn">
      This action does not apply to the account, or not to you.{" "}
      <Link href={page} className="underline">
        Back to the account
      </Link>
    </Notice>
  )
}
