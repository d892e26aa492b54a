import type { GoogleProfile } from "next-auth/providers/google"
import type { UserinfoEndpointHandler } from "next-auth/providers/oauth"
import { z } from "zod"
import { log } from "@/lib/platform/telemetry/log"

// An address is passed on only if the provider says that it is verified: anyone can enter another person's address.

const gitHubAddresses = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }))

/** next-auth's own function takes the public address of the profile, and never reads `verified`. */
export const gitHubUserinfo: UserinfoEndpointHandler = {
  async request({ client, tokens: { access_token = "" } }) {
    const profile = await client.userinfo(access_token)
    const { statusCode, body } = await client.requestResource("https://api.github.com/user/emails", access_token)
    // A linked account signs in without them.
    if (statusCode !== 200) log().error({ statusCode }, "github_addresses_unavailable")
    const addresses = statusCode === 200 ? gitHubAddresses.parse(JSON.parse(String(body))) : []
    return { ...profile, email: addresses.find(({ primary, verified }) => primary && verified)?.email ?? "" }
  },
}

export function googleProfile({ sub, name, email, email_verified, picture }: GoogleProfile) {
  return { id: sub, name, email: email_verified === true ? email : null, image: picture }
}
