import { Link } from "@/components/ui/link"
import { shortageOf } from "@/lib/credits/words"
import { addingCredits } from "@/lib/top-up"

export function Shortage({ balance, neededForCall }: { balance: number; neededForCall: number | null }) {
  const shortage = shortageOf(balance, neededForCall)
  if (!shortage) return null
  const { href, label } = addingCredits()
  return (
    <span className="block">
      <span className="block text-warn">{shortage}</span>
      <Link href={href} className="font-medium text-accent underline">
        {label}
      </Link>
    </span>
  )
}
