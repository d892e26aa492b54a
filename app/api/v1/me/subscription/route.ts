import { userObject } from "@/lib/api/endpoint"
import { currentSubscription, subscriptionRow } from "@/lib/subscriptions"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = userObject({
  summary: "The owner's current subscription, or null",
  data: subscriptionRow.nullable(),
  get: (owner) => currentSubscription(owner.id),
})
