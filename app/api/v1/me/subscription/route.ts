import { userObject } from "@/lib/api/object"
import { currentSubscription, subscriptionRow } from "@/lib/purchases/subscriptions"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = userObject({
  summary: "Returns the current subscription of the key's owner, or null if there is none",
  data: subscriptionRow.nullable(),
  get: (owner) => currentSubscription(owner.id),
})
