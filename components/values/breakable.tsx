import { Fragment } from "react"

/** Words with a hyphen, such as `api-keys`, stay on one line. */
const whole = /^(?=.{1,24}$)[a-z]+(-[a-z]+)+$/i

export function Breakable({ after, children }: { after: string; children: string }) {
  return children.split(after).map((part, index, parts) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text never move
    <Fragment key={index}>
      {index > 0 && (
        <>
          {after}
          {parts[index - 1] && <wbr />}
        </>
      )}
      {whole.test(part) ? <span className="whitespace-nowrap">{part}</span> : part}
    </Fragment>
  ))
}
