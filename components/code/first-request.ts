import type { Command } from "@/components/ui/empty-state"
import { requestIn } from "@/lib/api/documents/example-requests"
import { env } from "@/lib/env"
import { kinds, type Surface } from "@/lib/surfaces"

/** Every key of the surface may send it, and it is free. */
export function firstRequest(surface: Surface): Command {
  return { label: "First request", text: requestIn("curl", { url: env().BASE_URL + kinds[surface].test }) }
}
