import { buttonStyle } from "@/components/button"
import { Link } from "@/components/link"
import { Notice } from "@/components/notice"
import { type AccountAction, accountActions, type Subject } from "./account-actions"
import { ActionFacts } from "./action-facts"
import { type Act, ActionForm, type FormFacts } from "./action-form"

/** The confirmation as part of the page, for browsers without JavaScript. It remains to show the action's result. */
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
            {/* The facts can include the balance, so they are shown only if the viewer may apply the action. */}
            {applies && (
              <p className="text-muted">
                <ActionFacts action={action} account={account} />
              </p>
            )}
          </div>
        }
        unavailable={!applies && <Unavailable page={page} />}
        cancel={
          <Link href={page} className={buttonStyle()}>
            Cancel
          </Link>
        }
      />
    </section>
  )
}

function Unavailable({ page }: { page: string }) {
  return (
    <Notice tone="warn">
      This action is not available for this account, or your role does not allow it.{" "}
      <Link href={page} className="underline">
        Back to the account
      </Link>
    </Notice>
  )
}
