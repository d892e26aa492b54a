import { nothing } from "@/lib/api/methods"

// Clients that look for OAuth take a page for its metadata, and then ignore the key that they were given.
export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = nothing
