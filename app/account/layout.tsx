import { AppShell } from "@/app/_shell/app-shell"

export default function AccountLayout({ children }: LayoutProps<"/account">) {
  return <AppShell>{children}</AppShell>
}
