"use server"

import { formAction } from "@/lib/form/action"
import { createKeyForm, revokeKeyForm } from "@/lib/keys/forms"

export const createAdminKey = formAction(createKeyForm("admin"))

export const revokeAdminKey = formAction(revokeKeyForm("admin"))
