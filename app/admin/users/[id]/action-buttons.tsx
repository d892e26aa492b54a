"use client"

import { ChevronDown } from "lucide-react"
import { ConfirmButtons } from "@/components/confirm/confirm-buttons"
import { MenuPopover } from "@/components/overlay/menu-popover"
import { Button, buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { type AccountAction, accountActions, isAccountAction } from "./account-actions"
import { confirmationOf, type FormFacts } from "./confirmation"

export function ActionButtons({
  actions,
  links,
  ...facts
}: FormFacts & {
  actions: readonly AccountAction[]
  /** Of optional modules. */
  links: readonly { label: string; href: string }[]
}) {
  const others = actions.filter((action) => action !== "grant")
  return (
    <ConfirmButtons
      confirmationOf={(name) => (isAccountAction(name) ? confirmationOf(name, facts) : undefined)}
      className="flex flex-wrap gap-2 sm:justify-end"
    >
      {actions.includes("grant") && (
        <Button kind="primary" type="submit" name="action" value="grant">
          {accountActions.grant.label}
        </Button>
      )}
      {others.length + links.length > 0 && (
        <>
          <Button popoverTarget="account-actions">
            Actions
            <ChevronDown aria-hidden="true" className="size-4 text-muted" />
          </Button>
          <MenuPopover
            id="account-actions"
            className="w-48 rounded-lg border border-line bg-panel p-1 text-ink shadow-lg supports-[position-area:bottom]:m-0 supports-[position-area:bottom]:mt-1 supports-[position-area:bottom]:[inset:auto] supports-[position-area:bottom]:[position-area:bottom_span-left] supports-[position-area:bottom]:[position-try-fallbacks:flip-inline]"
          >
            {links.map(({ label, href }) => (
              <Link key={href} href={href} className={`${buttonStyle("quiet")} w-full justify-start text-ink!`}>
                {label}
              </Link>
            ))}
            {others.map((action) => (
              <Button
                key={action}
                type="submit"
                name="action"
                value={action}
                kind={accountActions[action].kind === "danger" ? "danger-quiet" : "quiet"}
                className={`w-full justify-start ${accountActions[action].kind === "danger" ? "" : "text-ink!"}`}
              >
                {accountActions[action].label}
              </Button>
            ))}
          </MenuPopover>
        </>
      )}
    </ConfirmButtons>
  )
}
