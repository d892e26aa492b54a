"use server"

import { answerNewKey, answerRevoke, type NewKeyAnswer, type RevokeAnswer } from "@/lib/keys/actions"

export async function createAdminKey(_last: NewKeyAnswer | null, data: FormData): Promise<NewKeyAnswer> {
  return answerNewKey("admin", data)
}

export async function revokeAdminKey(_last: RevokeAnswer | null, data: FormData): Promise<RevokeAnswer> {
  return answerRevoke("admin", data)
}
