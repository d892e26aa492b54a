import { documentRoutes } from "@/lib/api/endpoint"
import { adminSkill } from "@/lib/api/skill"
import { env } from "@/lib/env"
import { endpoints } from "../../endpoints"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = documentRoutes(
  "text/markdown; charset=utf-8",
  async () => {
    const admin = (await endpoints()).filter(({ surface }) => surface === "admin")
    return adminSkill(admin, env().BASE_URL)
  },
)
