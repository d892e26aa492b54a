/** Calls `end` once when the process is asked to end. npm repeats what the terminal has sent: no wish to hurry. */
export function onShutdown(end: () => void): void {
  let ending = false
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (!ending) end()
      ending = true
    })
  }
}
