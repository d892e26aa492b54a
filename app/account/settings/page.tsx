import type { Metadata } from "next"
import { Form } from "@/components/form/form"
import { PageFrame, Panel } from "@/components/page/page-frame"
import { Link } from "@/components/ui/link"
import { Avatar } from "@/components/values/avatar"
import { Untrusted } from "@/components/values/untrusted"
import { outcomes } from "@/lib/pictures/upload"
import { chosenTheme, type Theme } from "@/lib/platform/http/theme"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { setTheme } from "./actions"
import { DeletionPanel } from "./deletion-panel"
import { outcomes as exportOutcomes, type Outcome } from "./export/outcomes"
import { ExportPanel } from "./export-panel"
import { NameForm } from "./name-form"
import { entry } from "./navigation"
import { PictureForm } from "./picture-form"

export const metadata: Metadata = { title: entry.label }

export default async function SettingsPage({ searchParams }: PageProps<"/account/settings">) {
  const viewer = await requireViewer("/account/settings")
  const { name, email, picture } = viewer
  const query = await searchParams
  const outcome = outcomes.find((outcome) => outcome === query.picture)
  const exported = (Object.keys(exportOutcomes) as Outcome[]).find((outcome) => outcome === query.export)
  return (
    <PageFrame title={entry.label} intro="Your name and picture, how these pages look, and your data.">
      <Panel label="Profile">
        <div className="flex items-center gap-3">
          <Avatar {...viewer} size="large" />
          <div className="min-w-0 wrap-anywhere">
            <p className="font-medium">
              <Untrusted>{name}</Untrusted>
            </p>
            <p className="text-muted">
              <Untrusted>{email}</Untrusted>
            </p>
          </div>
        </div>
        <NameForm name={name} />
        <PictureForm hasPicture={picture !== null} outcome={outcome} />
      </Panel>
      <Panel label="Theme">
        <div>
          <h2 className="text-base font-semibold">Theme</h2>
          <p className="text-muted">For this browser. “System” follows the setting of your device.</p>
        </div>
        <ThemeForm chosen={await chosenTheme()} />
      </Panel>
      <Panel label="Security">
        <div>
          <h2 className="text-base font-semibold">Security</h2>
          <p className="text-muted">
            Your password, two-factor authentication, email address, connected services and signed-in browsers are under{" "}
            <Link href="/account/security" className="font-medium text-accent underline">
              Security
            </Link>
            .
          </p>
        </div>
      </Panel>
      <ExportPanel outcome={exported} />
      <DeletionPanel viewer={viewer} isRequested={query.delete !== undefined} />
    </PageFrame>
  )
}

const labels: Record<Theme, string> = { system: "System", light: "Light", dark: "Dark" }

function ThemeForm({ chosen }: { chosen: Theme }) {
  return (
    <Form action={setTheme} className="flex w-fit flex-wrap gap-1 rounded-lg bg-sunken p-1">
      {Object.entries(labels).map(([theme, label]) => (
        <button
          key={theme}
          type="submit"
          name="theme"
          value={theme}
          aria-pressed={theme === chosen}
          className="h-8 rounded-md px-3 font-medium text-muted hover:text-ink aria-pressed:bg-panel aria-pressed:text-ink aria-pressed:shadow-sm"
        >
          {label}
        </button>
      ))}
    </Form>
  )
}
