import { documentRoutes } from "@/lib/api/methods"
import { skillOf } from "../../skills"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = documentRoutes("text/markdown; charset=utf-8", () =>
  skillOf("admin"),
)
