import { reconcileNow } from "@optional/payments/jobs"
import { env } from "@/lib/env"
import { type Command, runIfStarted } from "./command-line"
import { loadEnvFiles } from "./env-files.mjs"

/** Compares with the payment provider. Fails if a difference is not booked, because it needs a person. */
export const billingReconcile: Command = async (_args, output) => {
  loadEnvFiles()
  env()
  const found = await reconcileNow()
  if (!found) {
    output.error("Nothing is sold: STRIPE_SECRET_KEY is not set, or the module was removed.")
    return 1
  }
  for (const { isBooked, sentence } of found) output.log(`${isBooked ? "Booked" : "Not booked"}: ${sentence}`)
  const open = found.filter(({ isBooked }) => !isBooked).length
  output.log(`${found.length} differences, ${open} of them not booked.`)
  return open === 0 ? 0 : 1
}

await runIfStarted(import.meta.url, billingReconcile)
