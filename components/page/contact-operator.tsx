import { SupportLink } from "./support-link"

export function ContactOperator() {
  return (
    <>
      <p>
        This service does not send email. Contact <SupportLink /> to set a new password.
      </p>
      <p className="text-muted">
        Operators can run:
        <code className="block font-mono">npm run user:password -- EMAIL</code>
      </p>
    </>
  )
}
