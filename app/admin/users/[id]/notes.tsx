import { RequestId, SubmitButton, TextAreaField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { RelativeTime } from "@/components/values/relative-time"
import { Untrusted } from "@/components/values/untrusted"
import { emailsOf } from "@/lib/accounts/addresses"
import { noteMaxLength, notesAbout } from "@/lib/accounts/notes"
import { holds } from "@/lib/permissions"
import type { Viewer } from "@/lib/sign-in/browser-session"
import { note } from "./actions"

export async function Notes({
  id,
  isDeleted,
  requestId,
  viewer,
}: {
  id: string
  isDeleted: boolean
  requestId: string
  viewer: Viewer
}) {
  const notes = await notesAbout(id, viewer.id)
  if (!notes) return null
  const isWritable = !isDeleted && holds(viewer.role, "notes.manage")
  const authors = await emailsOf(notes.map(({ authorId }) => authorId))
  return (
    <section
      aria-label="Staff notes"
      className="grid grid-cols-[minmax(0,1fr)] content-start gap-3 border-t border-line pt-2.5"
    >
      <div>
        <h2 className="font-medium">Staff notes</h2>
        <p className="text-xs text-muted">The customer never sees them.</p>
      </div>
      {isWritable && (
        // A new id resets the form after its note was added.
        <Form key={notes[0]?.id} action={note} className="grid gap-2" ifLost="The note is never added twice.">
          <input type="hidden" name="id" value={id} />
          <RequestId id={requestId} />
          <TextAreaField label="New note" name="text" maxLength={noteMaxLength} rows={2} required />
          <SubmitButton kind="plain" className="justify-self-start">
            Add note
          </SubmitButton>
        </Form>
      )}
      {notes.length === 0 && !isWritable && <p className="text-muted">No notes.</p>}
      {notes.length > 0 && (
        <ul className="grid max-h-72 gap-3 overflow-y-auto">
          {notes.map(({ id, text, authorId, createdAt }) => (
            <li key={id} className="grid gap-0.5 border-t border-line pt-3">
              <p className="whitespace-pre-line wrap-anywhere">
                <Untrusted>{text}</Untrusted>
              </p>
              <p className="text-xs text-muted wrap-anywhere">
                <Untrusted>{authors.get(authorId) ?? authorId}</Untrusted>,{" "}
                <RelativeTime date={createdAt} now={new Date()} />
              </p>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
