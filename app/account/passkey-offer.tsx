import { Fingerprint } from "lucide-react"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import type { Viewer } from "@/lib/sign-in/browser-session"
import { isPasskeyOffered } from "@/lib/sign-in/two-factor/passkey-offer"
import { passkeyHost } from "@/lib/sign-in/two-factor/passkeys"
import { PasskeyRow } from "./passkey-row"

export async function PasskeyOffer({ viewer }: { viewer: Viewer }) {
  if (!(await isPasskeyOffered(viewer))) return null
  return (
    <PasskeyRow host={passkeyHost()}>
      <Fingerprint aria-hidden="true" className="size-5 shrink-0 text-muted" />
      <p className="min-w-0 grow basis-72 text-muted">
        <span className="font-medium text-ink">Sign in with a passkey.</span> Your fingerprint, face or PIN opens your
        account, and a password alone no longer does.
      </p>
      <Link href="/account/security/two-factor" className={buttonStyle()}>
        Add a passkey
      </Link>
    </PasskeyRow>
  )
}
