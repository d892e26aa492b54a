import { skillDocument } from "@/lib/api/documents/skill"
import { env } from "@/lib/env"
import type { Surface } from "@/lib/surfaces"
import { clientsOf } from "./clients"
import { endpoints } from "./endpoints"

export async function skillOf(surface: Surface): Promise<string> {
  const own = (await endpoints()).filter((endpoint) => endpoint.surface === surface)
  const clients = (await clientsOf(surface)).map(({ skill }) => skill)
  return skillDocument(surface, own, env().BASE_URL, clients)
}
