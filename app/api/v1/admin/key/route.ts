import { ownKeyRoutes } from "@/lib/api/own-key"
import { scopesOf } from "../../scopes"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = ownKeyRoutes("admin", (role) => scopesOf("admin", role))
