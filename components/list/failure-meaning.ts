import { type ErrorCode, errors } from "@/lib/api/errors"

/** For codes whose published meaning refers to the message of the response, which lists leave out. */
const withoutMessage: Readonly<Record<string, string>> = {
  bad_request: "The query or the body was invalid.",
  key_limit_reached: "The call could have cost more than the rest of the key's spending limit.",
  forbidden: "The key's owner was banned or closed, or lacked the permission that the endpoint requires.",
  missing_scope: "The key lacks the scope that the endpoint requires.",
}

export function meaningOf(code: string): string | undefined {
  if (Object.hasOwn(withoutMessage, code)) return withoutMessage[code]
  return Object.hasOwn(errors, code) ? errors[code as ErrorCode].meaning.replaceAll("`", "") : undefined
}
