/** Runs once in each server process before it answers anything. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return
  const { checkEnvironment, nameSocketAddress, startSweeper } = await import("./lib/start")
  checkEnvironment()
  nameSocketAddress()
  startSweeper()
}
