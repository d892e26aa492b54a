import { AppShell } from "@/app/_shell/app-shell"

export default function ApiKeysLayout({ children }: LayoutProps<"/api-keys">) {
  return <AppShell>{children}</AppShell>
}
