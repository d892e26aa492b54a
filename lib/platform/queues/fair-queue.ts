/** `maxWaiting` applies to known and to other clients separately, so that neither group displaces the other. */
type Bounds = { maxRunning: number; maxWaiting: number; maxWaitMs: number }

/** An id belongs to a known client or to another one, never to both. */
type Client = { id: string; isKnown: boolean }

type EndWait = (mayRun: boolean) => void

/**
 * Clients take turns, so that one with many tasks delays another by less than one task. When too many tasks wait, the
 * client with the most loses its last one.
 *
 * A known client goes first unless another known one is running, so they cannot keep the others out.
 */
export function fairQueue({ maxRunning, maxWaiting, maxWaitMs }: Bounds) {
  const running: Client[] = []
  /** Clients are in the order of their turns, tasks oldest first. */
  const waiting = new Map<string, Client & { tasks: Set<EndWait> }>()

  async function enter(client: Client): Promise<(() => void) | undefined> {
    if (!(await turnOf(client))) return undefined
    return () => {
      const index = running.findIndex(({ id }) => id === client.id)
      running.splice(index, 1)
      startNext()
    }
  }

  function turnOf(client: Client): Promise<boolean> {
    return new Promise((resolve) => {
      const own = waiting.get(client.id) ?? { ...client, tasks: new Set() }
      const endWait: EndWait = (mayRun) => {
        clearTimeout(timer)
        own.tasks.delete(endWait)
        if (own.tasks.size === 0) waiting.delete(client.id)
        resolve(mayRun)
      }
      const timer = setTimeout(endWait, maxWaitMs, false)
      waiting.set(client.id, own)
      own.tasks.add(endWait)
      startNext()
      refuseExcess(client.isKnown)
    })
  }

  function startNext(): void {
    if (running.length === maxRunning) return
    const turns = [...waiting.values()]
    const known = running.some(({ isKnown }) => isKnown) ? undefined : turns.find(({ isKnown }) => isKnown)
    // A client without a running task comes first.
    const next = known ?? turns.find(({ id }) => !running.some((client) => client.id === id)) ?? turns[0]
    const [endWait] = next?.tasks ?? []
    if (!next || !endWait) return
    running.push(next)
    endWait(true)
    if (next.tasks.size === 0) return
    waiting.delete(next.id)
    waiting.set(next.id, next)
  }

  function refuseExcess(ofKnown: boolean): void {
    const queues = [...waiting.values()].filter(({ isKnown }) => isKnown === ofKnown).map(({ tasks }) => tasks)
    if (queues.reduce((sum, { size }) => sum + size, 0) <= maxWaiting) return
    // A random one of equally long queues, so that no client fills the queue and keeps all others out.
    const most = Math.max(...queues.map(({ size }) => size))
    const longest = queues.filter(({ size }) => size === most)
    const [loser = new Set<EndWait>()] = longest.slice(Math.floor(Math.random() * longest.length))
    ;[...loser].at(-1)?.(false)
  }

  return enter
}
