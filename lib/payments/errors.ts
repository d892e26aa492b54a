import { singleton } from "@/lib/singleton"

// Singletons, because an error that one bundle throws is recognized in another one.

/** It is too busy, fails or does not respond: try later. */
export const ProviderUnavailable = singleton("ProviderUnavailable", () => class ProviderUnavailable extends Error {})

/** For customers, as if it were away. The message is for operators, and names the setting. */
export const KeyRefused = singleton("KeyRefused", () => class KeyRefused extends ProviderUnavailable {})

/** The message is for the customer. */
export const PaymentDeclined = singleton(
  "PaymentDeclined",
  () =>
    class PaymentDeclined extends Error {
      constructor(
        message: string,
        readonly needsCard: boolean,
      ) {
        super(message)
      }
    },
)

/** Its signature or its form is wrong. */
export const InvalidEvent = singleton("InvalidEvent", () => class InvalidEvent extends Error {})
