import { Card } from "@/components/page/card"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { StatusBadge } from "@/components/ui/status-badge"
import type { Factors } from "@/lib/sign-in/two-factor/factors"

export function TwoFactorCard({ factors: { app, passkeys, recoveryCodesLeft } }: { factors: Factors }) {
  const isOn = app !== null || passkeys.length > 0
  const present = [
    ...(passkeys.length > 0 ? [counted(passkeys.length, "passkey")] : []),
    ...(app ? ["an authenticator app"] : []),
  ]
  return (
    <Card
      label="Two-factor authentication"
      title={
        <>
          Two-factor authentication <StatusBadge tone={isOn ? "good" : "off"}>{isOn ? "On" : "Off"}</StatusBadge>
        </>
      }
      intro={
        isOn
          ? `You have ${present.join(" and ")}, and ${counted(recoveryCodesLeft, "recovery code")} left.`
          : "Add a passkey or an authenticator app, so that nobody can sign in with your password alone."
      }
    >
      <Link href="/account/security/two-factor" className={`${buttonStyle()} justify-self-start`}>
        {isOn ? "Manage" : "Set up"}
        <span className="sr-only"> two-factor authentication</span>
      </Link>
    </Card>
  )
}

export function counted(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun}s`}`
}
