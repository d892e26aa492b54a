import { Fragment } from "react"
import { UntrustedStrong } from "@/components/values/untrusted"

const inView = 10

/** The rows that a confirmation is about. */
export function NamedRows({ names }: { names: readonly string[] }) {
  const rest = names.length - inView
  return (
    <>
      {names.slice(0, inView).map((name, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows can have the same name, and never move
        <Fragment key={index}>
          {index > 0 && ", "}
          <UntrustedStrong>{name}</UntrustedStrong>
        </Fragment>
      ))}
      {rest > 0 && ` and ${rest} more`}
    </>
  )
}
