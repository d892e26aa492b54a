"use server"

import { type CreateKeyState, createKeyAction, type RevokeState, revokeKeyAction } from "@/lib/keys/actions"

export async function createUserKey(_last: CreateKeyState | null, data: FormData): Promise<CreateKeyState> {
  return createKeyAction("user", data)
}

export async function revokeUserKey(_last: RevokeState | null, data: FormData): Promise<RevokeState> {
  return revokeKeyAction("user", data)
}
