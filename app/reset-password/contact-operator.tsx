/** In place of the form where no letter can be sent. */
export function ContactOperator() {
  return (
    <>
      <p>This service sends no mail: ask its operator for a new password.</p>
      <p className="text-muted">
        Operators:
        <code className="block font-mono">npm run user:password -- EMAIL</code>
      </p>
    </>
  )
}
