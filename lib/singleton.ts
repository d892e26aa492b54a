/**
 * The values of this process by name. Next bundles a module several times (route handlers, pages, instrumentation), so a
 * module-level variable would exist once per bundle, and so would pools, limiters and caches.
 */
export const singletons: Record<string, unknown> = sharedRecord()

/** One value per process, made on first use. */
export function singleton<T>(name: string, make: () => T): T {
  singletons[name] ??= make()
  return singletons[name] as T
}

function sharedRecord(): Record<string, unknown> {
  const slots = globalThis as unknown as Record<symbol, Record<string, unknown> | undefined>
  const slot = Symbol.for("app.singletons")
  slots[slot] ??= {}
  return slots[slot]
}
