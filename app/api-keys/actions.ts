"use server"

import { formAction } from "@/lib/form/action"
import { createKeyForm, revokeKeyForm } from "@/lib/keys/forms"

export const createUserKey = formAction(createKeyForm("user"))

export const revokeUserKey = formAction(revokeKeyForm("user"))
