/** Next bundles a module several times: a variable of a module, such as a pool or a limiter, would exist once per bundle. */
export const singletons: Record<string, unknown> = sharedRecord()

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
