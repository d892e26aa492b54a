import { Count, None } from "@/components/list/cells"
import { Fact, Facts } from "@/components/ui/facts"
import { Link } from "@/components/ui/link"
import { Untrusted } from "@/components/values/untrusted"
import type { OwnRun } from "@/lib/credits/lines"
import { inCredits, nameOfLine } from "@/lib/credits/words"
import { absoluteTime } from "@/lib/platform/text/format-time"
import { kinds } from "@/lib/surfaces"

export function RunFacts({ run: { id, key, state, reserved, cost, createdAt, endedAt } }: { run: OwnRun }) {
  return (
    <Facts>
      <Fact label="Status">
        {state === "settled" ? "Run finished" : nameOfLine({ kind: "reserve", runState: state })}
      </Fact>
      <Fact label="Cost">
        {cost === null ? <None /> : <Count value={Number(cost)} />}
        <span className="text-muted"> of at most {inCredits(Number(reserved))}</span>
      </Fact>
      <Fact label="Key">
        {key ? (
          <Link href={`${kinds.user.page}/${key.id}`} className="text-accent underline">
            <Untrusted>{key.name}</Untrusted>
          </Link>
        ) : (
          <None />
        )}
      </Fact>
      <Fact label="Started">{absoluteTime(createdAt)}</Fact>
      <Fact label="Ended">
        {endedAt ? `${absoluteTime(endedAt)}, after ${durationOf(endedAt.getTime() - createdAt.getTime())}` : <None />}
      </Fact>
      <Fact label="Run ID">
        <code className="font-mono text-xs wrap-anywhere">{id}</code>
      </Fact>
    </Facts>
  )
}

function durationOf(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`
}
