type Bounds = { maxRunning: number; maxWaiting: number; maxWaitMs: number }

/** Ends the wait of a task: it may run, or it is refused. */
type EndWait = (mayRun: boolean) => void

/**
 * A queue in which clients take turns, so that one with many tasks delays another by less than one task. A task is
 * refused when it has waited too long. When too many wait, the client with the most loses its last one.
 */
export function fairQueue({ maxRunning, maxWaiting, maxWaitMs }: Bounds) {
  /** The client of each running task. */
  const running: string[] = []
  /** The waiting tasks of each client, oldest first. The clients are in the order of their turns. */
  const waiting = new Map<string, Set<EndWait>>()

  /**
   * Waits for a turn of the client.
   * @returns a function that ends the task, or undefined if the task is refused
   */
  async function enter(client: string): Promise<(() => void) | undefined> {
    if (!(await turnOf(client))) return undefined
    return () => {
      running.splice(running.indexOf(client), 1)
      startNext()
    }
  }

  function turnOf(client: string): Promise<boolean> {
    return new Promise((resolve) => {
      const own = waiting.get(client) ?? new Set()
      const endWait: EndWait = (mayRun) => {
        clearTimeout(timer)
        own.delete(endWait)
        if (own.size === 0) waiting.delete(client)
        resolve(mayRun)
      }
      const timer = setTimeout(endWait, maxWaitMs, false)
      waiting.set(client, own.add(endWait))
      startNext()
      refuseExcess()
    })
  }

  function startNext(): void {
    if (running.length === maxRunning) return
    const turns = [...waiting]
    // A client without a running task comes first.
    const [client, [endWait] = []] = turns.find(([client]) => !running.includes(client)) ?? turns[0] ?? []
    if (client === undefined || !endWait) return
    running.push(client)
    endWait(true)
    const others = waiting.get(client)
    if (others) {
      waiting.delete(client)
      waiting.set(client, others)
    }
  }

  function refuseExcess(): void {
    const queues = [...waiting.values()]
    if (queues.reduce((sum, { size }) => sum + size, 0) <= maxWaiting) return
    // Of equally long ones a random one, so that nobody fills the queue and keeps all others out.
    const most = Math.max(...queues.map(({ size }) => size))
    const longest = queues.filter(({ size }) => size === most)
    const [loser = new Set<EndWait>()] = longest.slice(Math.floor(Math.random() * longest.length))
    ;[...loser].at(-1)?.(false)
  }

  return enter
}
