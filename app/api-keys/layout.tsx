import { AppShell } from "@/app/_shell/app-shell"

export default function AccountLayout({ children }: LayoutProps<"/api-keys">) {
  return <AppShell>{children}</AppShell>
}
