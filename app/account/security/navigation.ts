import { LockKeyhole } from "lucide-react"
import type { NavigationEntry } from "@/app/_shell/sections"

export const entry: NavigationEntry = {
  area: "account",
  after: "/account/settings",
  label: "Security",
  keywords: "password email address sign-in methods browsers sessions activity",
  icon: LockKeyhole,
  permission: null,
  actions: [
    {
      label: "Manage two-factor authentication",
      query: "/two-factor",
      keywords: "2fa mfa two factor second factor passkeys authenticator app recovery codes",
    },
  ],
}
