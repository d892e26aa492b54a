import { AppShell } from "@/components/app-shell"

export default function FeedbackLayout({ children }: LayoutProps<"/feedback">) {
  return <AppShell>{children}</AppShell>
}
