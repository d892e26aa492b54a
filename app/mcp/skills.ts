import { type Skill, SkillsExtension, skillEntry } from "@modelcontextprotocol/server/ext/skills"
import { skillOf } from "@/app/api/v1/skills"
import { texts } from "@/lib/api/documents/skill"
import type { Surface } from "@/lib/surfaces"

/** The skill document of the API, whose digest is in /.well-known/agent-skills/index.json, too. */
function skillsOf(surface: Surface): SkillsExtension {
  const { name, title } = texts[surface]
  const uri = `skill://${name}/SKILL.md`
  const entry = async (): Promise<Skill> => skillEntry(name, { "SKILL.md": await skillOf(surface) })
  return new SkillsExtension({
    source: {
      list: async () => ({ skills: [await entry()] }),
      get: async (asked) => (asked === uri ? entry() : undefined),
      read: async (asked) => (asked === uri ? { text: await skillOf(surface), mimeType: "text/markdown" } : undefined),
      listResources: async () => [{ uri, name: title, mimeType: "text/markdown" }],
    },
    cacheHint: { ttlMs: 300_000, cacheScope: "private" },
    strict: true,
  })
}

export const skills: Record<Surface, SkillsExtension> = { admin: skillsOf("admin"), user: skillsOf("user") }
