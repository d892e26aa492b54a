import type { Viewer } from "@/lib/sign-in/browser-session"
import { isPasskeyOffered } from "@/lib/sign-in/two-factor/passkey-offer"
import { passkeyHost } from "@/lib/sign-in/two-factor/passkeys"
import { PasskeyRow } from "./passkey-row"

export async function PasskeyOffer({ viewer }: { viewer: Viewer }) {
  return (await isPasskeyOffered(viewer)) && <PasskeyRow host={passkeyHost()} />
}
