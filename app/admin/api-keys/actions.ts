"use server"

import { type CreateKeyState, createKeyAction, type RevokeState, revokeKeyAction } from "@/lib/keys/actions"

export async function createAdminKey(_last: CreateKeyState | null, data: FormData): Promise<CreateKeyState> {
  return createKeyAction("admin", data)
}

export async function revokeAdminKey(_last: RevokeState | null, data: FormData): Promise<RevokeState> {
  return revokeKeyAction("admin", data)
}
