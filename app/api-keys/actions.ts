"use server"

import { scopesOf } from "@/app/api/v1/scopes"
import { formAction } from "@/lib/form/action"
import { changeKeyForm, createKeyForm, revokeKeyForm, rotateKeyForm } from "@/lib/form/keys"

export const createUserKey = formAction(createKeyForm("user", (role) => scopesOf("user", role)))

export const rotateUserKey = formAction(rotateKeyForm("user"))

export const changeUserKey = formAction(changeKeyForm("user"))

export const revokeUserKey = formAction(revokeKeyForm("user"))
