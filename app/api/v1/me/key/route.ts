import { ownKeyRoutes } from "@/lib/api/own-key"
import { neededForCall } from "../../needed-for-call"
import { scopesOf } from "../../scopes"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = ownKeyRoutes(
  "user",
  (role) => scopesOf("user", role),
  neededForCall,
)
