"use server"

import { answerNewKey, answerRevoke, type NewKeyAnswer, type RevokeAnswer } from "@/lib/keys/actions"

export async function createUserKey(_last: NewKeyAnswer | null, data: FormData): Promise<NewKeyAnswer> {
  return answerNewKey("user", data)
}

export async function revokeUserKey(_last: RevokeAnswer | null, data: FormData): Promise<RevokeAnswer> {
  return answerRevoke("user", data)
}
