"use server"

import { after } from "next/server"
import { done, guestFormAction, refused, retryLater } from "@/lib/form/action"
import { product } from "@/lib/product"
import { requestReset, resetRequestForm } from "@/lib/sign-in/passwords/password-reset"

export const request = guestFormAction({
  fields: resetRequestForm,
  act: async ({ email }, client) => {
    const result = await requestReset(email, client)
    if (result.ok) {
      after(result.message)
      return done()
    }
    if (result.reason === "no_email")
      return refused(`This service does not send email. Contact ${product.supportEmail}.`)
    return retryLater("Too many requests from your network", result)
  },
})
