import { Link } from "@/components/ui/link"
import { shortageOf } from "@/lib/credits/words"

export function Shortage({ balance, neededForCall }: { balance: number; neededForCall: number | null }) {
  const shortage = shortageOf(balance, neededForCall)
  if (!shortage) return null
  return (
    <span className="block">
      <span className="block text-warn">{shortage}</span>
      <Link href="/docs#credits" className="font-medium text-accent underline">
        How to add credits
      </Link>
    </span>
  )
}
