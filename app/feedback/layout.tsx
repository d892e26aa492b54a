import { AppShell } from "@/app/_shell/app-shell"

export default function FeedbackLayout({ children }: LayoutProps<"/feedback">) {
  return <AppShell>{children}</AppShell>
}
