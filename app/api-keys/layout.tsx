import { AppShell } from "@/components/app-shell"

export default function AccountLayout({ children }: LayoutProps<"/api-keys">) {
  return <AppShell>{children}</AppShell>
}
