import { mcpRoutes } from "../routes"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = mcpRoutes("user")
