/** In place of the form where no letter can be sent. */
export function AskOperator() {
  return (
    <>
      <p>This service sends no mail, so its operator sets passwords anew. Ask them for one.</p>
      <p className="text-muted">
        Operators: <code className="font-mono">npm run user:password -- EMAIL</code>
      </p>
    </>
  )
}
