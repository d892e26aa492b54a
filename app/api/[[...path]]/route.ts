import { nothing } from "@/lib/api/endpoint"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = nothing
