import { AppShell } from "@/app/_shell/app-shell"

/** Each page asks for its own permission. */
export default function AdminLayout({ children }: LayoutProps<"/admin">) {
  return <AppShell>{children}</AppShell>
}
