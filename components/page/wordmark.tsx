import { product } from "@/lib/product"

/** In a square of 20 by 20 units, as on the icon. */
export const keyholes =
  "M6.5 5.5a2 2 0 0 1 1.1 3.7l.6 5.3H4.8l.6-5.3a2 2 0 0 1 1.1-3.7Zm7 0a2 2 0 0 1 1.1 3.7l.6 5.3h-3.4l.6-5.3a2 2 0 0 1 1.1-3.7Z"

export function Wordmark() {
  return (
    <span className="inline-flex items-center gap-2 text-base font-semibold tracking-tight">
      <svg viewBox="0 0 20 20" aria-hidden="true" className="size-5 text-accent">
        <rect width="20" height="20" rx="5" fill="currentColor" />
        <path d={keyholes} className="fill-on-accent" />
      </svg>
      {product.name}
    </span>
  )
}
