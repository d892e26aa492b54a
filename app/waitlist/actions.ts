"use server"

import { done, guestFormAction, retryLater } from "@/lib/form/action"
import { joinWaitlist, waitlistForm } from "@/lib/waitlist/waitlist"

export const join = guestFormAction({
  fields: waitlistForm,
  act: async (form, { address }) => {
    const result = await joinWaitlist(form, address)
    return result.ok ? done() : retryLater("Too many requests from your network", result)
  },
})
