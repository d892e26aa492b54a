import { callingKeyRoutes } from "@/lib/api/calling-key"
import { scopesOf } from "../../scopes"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = callingKeyRoutes("admin", (role) =>
  scopesOf("admin", role),
)
