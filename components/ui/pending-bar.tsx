export function PendingBar() {
  return (
    <span
      aria-hidden="true"
      data-pending
      className="fixed inset-x-0 top-0 z-50 h-[3px] origin-left bg-ink motion-safe:animate-[pending_8s_cubic-bezier(0.1,0.7,0.2,1)_forwards]"
    />
  )
}
