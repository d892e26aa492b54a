import { nothing } from "@/lib/api/respond"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = nothing
