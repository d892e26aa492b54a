import { visible } from "@/lib/platform/text/visible-text"
import { singleton } from "@/lib/singleton"

const maxCharacters = 500

// Singletons, because an error that one bundle throws is recognized in another one.

/** It is too busy, fails or does not respond: try later. */
export const ProviderUnavailable = singleton("ProviderUnavailable", () => class ProviderUnavailable extends Error {})

/** For customers, as if it were away. The message is for operators, and names the setting. */
export const KeyRefused = singleton("KeyRefused", () => class KeyRefused extends ProviderUnavailable {})

/** It calls a request invalid, or responds with something that cannot be used. The message is for operators. */
export const ProviderRefused = singleton("ProviderRefused", () => class ProviderRefused extends Error {})

/** The message, which the provider or the customer's bank wrote, is for the customer. */
export const PaymentDeclined = singleton(
  "PaymentDeclined",
  () =>
    class PaymentDeclined extends Error {
      constructor(
        message: string,
        readonly needsCard: boolean,
      ) {
        super(visible(message.slice(0, maxCharacters)))
      }
    },
)

/** Its signature or its form is wrong. */
export const InvalidEvent = singleton("InvalidEvent", () => class InvalidEvent extends Error {})
