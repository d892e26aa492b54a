/**
 * One value per process. Next bundles a module several times (route handlers, pages, instrumentation), so a
 * module-level variable would exist once per bundle, and so would pools, limiters and caches.
 */
export function singleton<T>(name: string, make: () => T): T {
  const slots = globalThis as unknown as Record<symbol, T | undefined>
  const slot = Symbol.for(`app.${name}`)
  slots[slot] ??= make()
  return slots[slot]
}
