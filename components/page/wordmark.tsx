import { LockPaths } from "@/components/values/lock"
import { product } from "@/lib/product"

export function Wordmark() {
  return (
    <span className="inline-flex items-center gap-2 text-base font-semibold tracking-tight">
      <svg viewBox="0 0 20 20" aria-hidden="true" className="size-5">
        <LockPaths surface="user" />
        <LockPaths surface="admin" />
      </svg>
      {product.name}
    </span>
  )
}
