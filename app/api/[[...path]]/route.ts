import { nothing } from "@/lib/api/answer"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = nothing
