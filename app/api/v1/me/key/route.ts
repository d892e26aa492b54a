import { neededForCall } from "@/app/api/v1/needed-for-call"
import { scopesOf } from "@/app/api/v1/scopes"
import { ownKeyRoutes } from "@/lib/api/own-key"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = ownKeyRoutes(
  "user",
  (role) => scopesOf("user", role),
  neededForCall,
)
