import type { Surface } from "@/lib/surfaces"

/** Another protocol for the API of a surface, which an optional module adds. */
export type Client = {
  path: string
  /** Of the documents of the surface. */
  section: { id: string; title: string; text: readonly string[]; words: string }
  /** A sentence of the skill document. */
  skill: string
  /** For each program that speaks it, its configuration with a placeholder for the key. */
  setups: readonly { title: string; text: string; note: string }[]
  /** A message that shows that a key works. */
  test: Readonly<Record<string, unknown>>
}

const files = import.meta.glob<{ clientOf: (surface: Surface) => Promise<Client> }>("../../*/client.ts")

export async function clientsOf(surface: Surface): Promise<Client[]> {
  const modules = await Promise.all(Object.values(files).map((load) => load()))
  return Promise.all(modules.map(({ clientOf }) => clientOf(surface)))
}
