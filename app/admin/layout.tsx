import { AppShell } from "@/app/_shell/app-shell"

/** Each page checks its own permission. */
export default function AdminLayout({ children }: LayoutProps<"/admin">) {
  return (
    <AppShell>
      <div data-surface="admin" className="contents">
        {children}
      </div>
    </AppShell>
  )
}
