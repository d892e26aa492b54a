import { openApiDocument } from "@/lib/api/documents/openapi"
import { documentRoutes } from "@/lib/api/methods"
import { env } from "@/lib/env"
import { endpoints } from "../endpoints"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = documentRoutes("application/json", async () =>
  openApiDocument(await endpoints(), env().BASE_URL),
)
