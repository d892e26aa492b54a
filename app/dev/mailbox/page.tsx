import type { Metadata } from "next"
import { PageFrame } from "@/components/page/page-frame"
import { buttonStyle } from "@/components/ui/button"
import { EmptyState } from "@/components/ui/empty-state"
import { Link } from "@/components/ui/link"
import { RelativeTime } from "@/components/values/relative-time"
import { env } from "@/lib/env"
import { type KeptEmail, mailbox } from "@/lib/platform/email/mailbox"
import { requireDevelopment } from "@/lib/platform/http/development"

export const metadata: Metadata = { title: "Mailbox" }

export default async function MailboxPage() {
  await requireDevelopment()
  const emails = mailbox()
  return (
    <main className="mx-auto max-w-3xl px-4 py-10">
      <PageFrame title="Mailbox" intro="Without a mail server, the emails of this server are kept here until it stops.">
        {emails.length === 0 ? (
          <EmptyState
            title="No emails"
            action={
              <Link href="/sign-up" className={buttonStyle()}>
                Sign up
              </Link>
            }
          >
            Sign up, create a key or reset a password.
          </EmptyState>
        ) : (
          <ol className="grid gap-4">
            {emails.map((email) => (
              <Email key={email.id} email={email} now={new Date()} />
            ))}
          </ol>
        )}
      </PageFrame>
    </main>
  )
}

function Email({ email: { id, to, subject, sentAt, text }, now }: { email: KeptEmail; now: Date }) {
  return (
    <li className="grid gap-2 rounded-lg border border-line bg-panel p-4">
      <h2 className="font-semibold wrap-anywhere">{subject}</h2>
      <p className="text-muted wrap-anywhere">
        To {to}, <RelativeTime date={sentAt} now={now} />.{" "}
        <Link href={`/dev/mailbox/${id}`} className="text-accent underline">
          Open as HTML
        </Link>
      </p>
      <p className="whitespace-pre-wrap wrap-anywhere">{withLinks(text)}</p>
    </li>
  )
}

/** Links only the product's own URLs, because names that people typed may contain others. */
function withLinks(text: string) {
  return text.split(/(https?:\/\/\S+)/).map((part, index) =>
    !part.startsWith(`${env().BASE_URL}/`) ? (
      part
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the text never changes
      <a key={index} href={part} className="text-accent underline">
        {part}
      </a>
    ),
  )
}
