/** In the place of lib/payments/top-up.ts after the removal of its module. */
export function topUp(): { href: string; label: string } | undefined {
  return undefined
}
