import { callingKeyRoutes } from "@/lib/api/calling-key"
import { neededForCall } from "../../needed-for-call"
import { scopesOf } from "../../scopes"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = callingKeyRoutes(
  "user",
  (role) => scopesOf("user", role),
  neededForCall,
)
