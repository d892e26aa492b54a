"use server"

import { scopesOf } from "@/app/api/v1/scopes"
import { formAction } from "@/lib/form/action"
import { changeKeyForm, createKeyForm, revokeKeyForm, rotateKeyForm } from "@/lib/form/keys"

export const createAdminKey = formAction(createKeyForm("admin", (role) => scopesOf("admin", role)))

export const rotateAdminKey = formAction(rotateKeyForm("admin"))

export const changeAdminKey = formAction(changeKeyForm("admin"))

export const revokeAdminKey = formAction(revokeKeyForm("admin"))
