import { z } from "zod"
import { userObject } from "@/lib/api/object"
import { id, untrustedText } from "@/lib/platform/schemas/fields"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = userObject({
  summary: "Returns the account that the key belongs to; also a simple way to verify that a key works",
  data: z.object({ id, email: untrustedText, name: untrustedText }),
  get: async (owner) => owner,
})
