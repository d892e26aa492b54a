"use server"

import { headers } from "next/headers"
import { meteredEndpoints } from "@/app/api/v1/endpoints"
import { runSample, sampleForm } from "@/lib/api/sample"
import { done, guestFormAction, refused, retryLater } from "@/lib/form/action"
import { shownSample } from "./shown-sample"

export const run = guestFormAction({
  fields: sampleForm,
  act: async ({ text }, { address }) => {
    const [endpoint] = await meteredEndpoints()
    const sample = await runSample(endpoint, text, address)
    if (sample.ok) return done(shownSample(sample, (await headers()).has("next-action")))
    if (sample.reason === "too_many") return retryLater("Too many texts from your network", sample)
    return refused("This call has no sample. Create an account to make it.")
  },
})
