import { createHash } from "node:crypto"
import { skillOf } from "@/app/api/v1/skills"
import { texts } from "@/lib/api/documents/skill"
import { documentRoutes } from "@/lib/api/methods"
import { kinds, surfaces } from "@/lib/surfaces"

// Agent Skills Discovery 0.2.0.
export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = documentRoutes("application/json", async () =>
  JSON.stringify({
    $schema: "https://schemas.agentskills.io/discovery/0.2.0/schema.json",
    skills: await Promise.all(
      surfaces.map(async (surface) => ({
        name: texts[surface].name,
        type: "skill-md",
        description: texts[surface].description,
        url: `${kinds[surface].api}/skill.md`,
        digest: `sha256:${createHash("sha256")
          .update(await skillOf(surface))
          .digest("hex")}`,
      })),
    ),
  }),
)
