import type { CDPSession, Page } from "@playwright/test"

type Credential = { credentialId: string; privateKey: string; signCount: number; userHandle?: string; rpId?: string }

/** A virtual authenticator of the page that verifies its user and keeps its passkeys. */
export async function addAuthenticator(page: Page) {
  const client: CDPSession = await page.context().newCDPSession(page)
  await client.send("WebAuthn.enable")
  const { authenticatorId } = await client.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    credentials: async (): Promise<Credential[]> =>
      (await client.send("WebAuthn.getCredentials", { authenticatorId })).credentials as Credential[],
    add: (credential: Credential) =>
      client.send("WebAuthn.addCredential", {
        authenticatorId,
        credential: { ...credential, isResidentCredential: true },
      }),
    verifies: (isUserVerified: boolean) => client.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified }),
    clear: () => client.send("WebAuthn.clearCredentials", { authenticatorId }),
  }
}
