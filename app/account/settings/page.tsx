import type { Metadata } from "next"
import { ThemeForm } from "@/app/_shell/theme-form"
import { Card, Cards } from "@/components/page/card"
import { PageFrame } from "@/components/page/page-frame"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { Avatar } from "@/components/values/avatar"
import { Untrusted } from "@/components/values/untrusted"
import { outcomes } from "@/lib/pictures/upload"
import { chosenTheme } from "@/lib/platform/http/theme"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { DeletionCard } from "./deletion-card"
import { outcomes as exportOutcomes, type Outcome } from "./export/outcomes"
import { ExportForm } from "./export-form"
import { NameForm } from "./name-form"
import { entry } from "./navigation"
import { PictureForm } from "./picture-form"

export const metadata: Metadata = { title: entry.label }

export default async function SettingsPage({ searchParams }: PageProps<"/account/settings">) {
  const viewer = await requireViewer("/account/settings")
  const { name, picture } = viewer
  const query = await searchParams
  const outcome = outcomes.find((outcome) => outcome === query.picture)
  const exported = (Object.keys(exportOutcomes) as Outcome[]).find((outcome) => outcome === query.export)
  return (
    <PageFrame title={entry.label} intro="Your name and picture, how these pages look, and your data.">
      <Cards>
        <Card title="Your name" intro="Our team sees it beside your email address.">
          <NameForm name={name} />
        </Card>
        <Card title="Your picture" intro="Replaces your initials on these pages and for our team.">
          <div className="flex items-center gap-3">
            <Avatar {...viewer} size="large" />
            <p className="min-w-0 font-medium wrap-anywhere">
              <Untrusted>{name}</Untrusted>
            </p>
          </div>
          <PictureForm hasPicture={picture !== null} outcome={outcome} />
        </Card>
        <Card label="Theme" title="Theme" intro="For this browser. “System” follows the setting of your device.">
          <ThemeForm chosen={await chosenTheme()} />
        </Card>
        <Card
          label="Security"
          title="Security"
          intro="Your password, two-factor authentication, email address, connected services and signed-in browsers."
        >
          <Link href="/account/security" className={`${buttonStyle()} justify-self-start`}>
            Open security
          </Link>
        </Card>
        <Card
          label="Export"
          title="Export your data"
          id="export"
          intro="A ZIP file with the data stored about you and your use of this service, as JSON."
        >
          <ExportForm outcome={exported} />
        </Card>
        <DeletionCard viewer={viewer} isRequested={query.delete !== undefined} />
      </Cards>
    </PageFrame>
  )
}
