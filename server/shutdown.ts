/** npm repeats the terminal's signal, so later ones are ignored. */
export function onShutdown(end: () => void): void {
  let ending = false
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (!ending) end()
      ending = true
    })
  }
}
