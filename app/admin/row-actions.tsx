import type { ReactNode } from "react"
import type { GET as ORDERS } from "@/app/api/v1/admin/orders/route"
import type { GET as SUBSCRIPTIONS } from "@/app/api/v1/admin/subscriptions/route"
import type { RowForm } from "@/components/list/list-view"
import { holds, type Permission } from "@/lib/permissions"
import { currentViewer } from "@/lib/sign-in/browser-session"

type RowOf<Get extends { endpoint: { read: (...given: never[]) => Promise<{ data: readonly unknown[] }> } }> = Awaited<
  ReturnType<Get["endpoint"]["read"]>
>["data"][number]

export type Order = RowOf<typeof ORDERS>
export type Subscription = RowOf<typeof SUBSCRIPTIONS>

type Lists = { orders: Order; subscriptions: Subscription }

/** `name` is of the buttons, and of the parameter with which they open the page without JavaScript. */
type RowActions<Row> = { name: string; form: RowForm<Row>; panel: (id: string) => Promise<ReactNode> }

/** Exported by `row-actions.tsx` in the folder of an optional module: its actions on pages that stay without it. */
export type ModuleActions = {
  permission: Permission
  lists: { readonly [List in keyof Lists]: RowActions<Lists[List]> }
  ofAccount: (id: string) => readonly { label: string; href: string }[]
}

const files = import.meta.glob<{ actions: ModuleActions }>("./*/row-actions.tsx")

async function permitted(): Promise<ModuleActions | undefined> {
  const viewer = await currentViewer()
  const modules = await Promise.all(Object.values(files).map((load) => load()))
  return modules.map(({ actions }) => actions).find(({ permission }) => viewer && holds(viewer.role, permission))
}

/** @returns properties of a `<ResourcePage>`, and the confirmation that its address asks for */
export async function withRowActions<List extends keyof Lists>(
  list: List,
  searchParams: Promise<Record<string, string | string[] | undefined>>,
) {
  const actions = (await permitted())?.lists[list]
  if (!actions) return { panel: null, list: { searchParams } }
  const { [actions.name]: asked, ...query } = await searchParams
  return {
    panel: typeof asked === "string" ? await actions.panel(asked) : null,
    list: { searchParams: Promise.resolve(query), rowForm: actions.form },
  }
}

export async function actionsOfAccount(id: string): Promise<readonly { label: string; href: string }[]> {
  return (await permitted())?.ofAccount(id) ?? []
}
