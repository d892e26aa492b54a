import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto"
import { isoCBOR } from "@simplewebauthn/server/helpers"
import { env } from "@/lib/env"

/** Errors to put into the response of an authenticator. */
type Faults = {
  origin?: string
  rpId?: string
  isUserVerified?: boolean
  counter?: number
  signature?: Buffer
  userHandle?: string
  type?: string
  /** In the authenticator data; `id` is in the JSON around it. */
  credentialId?: Buffer
  id?: string
  format?: string
  /** The attestation statement; it signs `signed`. */
  statement?: (signed: Buffer) => Map<string, unknown>
}

type Options = { challenge: string; user?: { id: string } }

const flagsOf = ({ isUserVerified = true }: Faults, more = 0) => 0x01 | (isUserVerified ? 0x04 : 0) | more

/** A software authenticator with one passkey, for tests without a browser. It responds with JSON, like a browser. */
export function createAuthenticator(credentialId = randomBytes(16)) {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  let counter = 0
  let userHandle: string | undefined

  function clientData({ challenge }: Options, type: string, { origin = env().BASE_URL, ...faults }: Faults): Buffer {
    return Buffer.from(JSON.stringify({ type: faults.type ?? type, challenge, origin, crossOrigin: false }))
  }

  function authenticatorData(faults: Faults, more = 0): Buffer {
    const rpId = faults.rpId ?? new URL(env().BASE_URL).hostname
    const fixed = Buffer.alloc(5)
    fixed.writeUInt8(flagsOf(faults, more), 0)
    fixed.writeUInt32BE(faults.counter ?? counter, 1)
    return Buffer.concat([createHash("sha256").update(rpId).digest(), fixed])
  }

  function respond(response: Record<string, string | undefined>, faults: Faults): string {
    const id = faults.id ?? (faults.credentialId ?? credentialId).toString("base64url")
    return JSON.stringify({ id, rawId: id, type: "public-key", response, clientExtensionResults: {} })
  }

  return {
    /** Creates the passkey. */
    register(options: Options, faults: Faults = {}): string {
      userHandle = options.user?.id
      const { x = "", y = "" } = publicKey.export({ format: "jwk" })
      const cose = new Map<number, number | Uint8Array>([
        ...([
          [1, 2],
          [3, -7],
          [-1, 1],
        ] as const),
        [-2, new Uint8Array(Buffer.from(x, "base64url"))],
        [-3, new Uint8Array(Buffer.from(y, "base64url"))],
      ])
      const length = Buffer.alloc(2)
      const made = faults.credentialId ?? credentialId
      length.writeUInt16BE(made.length)
      const credential = Buffer.concat([Buffer.alloc(16), length, made, Buffer.from(isoCBOR.encode(cose))])
      const client = clientData(options, "webauthn.create", faults)
      const data = Buffer.concat([authenticatorData(faults, 0x40), credential])
      const signed = Buffer.concat([data, createHash("sha256").update(client).digest()])
      const attestation = new Map<string, unknown>([
        ["fmt", faults.format ?? "none"],
        ["attStmt", faults.statement?.(signed) ?? new Map()],
        ["authData", new Uint8Array(data)],
      ])
      return respond(
        {
          clientDataJSON: client.toString("base64url"),
          attestationObject: Buffer.from(isoCBOR.encode(attestation as Parameters<typeof isoCBOR.encode>[0])).toString(
            "base64url",
          ),
        },
        faults,
      )
    },
    /** Signs a challenge, and counts it. */
    sign(options: Options, faults: Faults = {}): string {
      counter++
      const [data, client] = [authenticatorData(faults), clientData(options, "webauthn.get", faults)]
      const signed = Buffer.concat([data, createHash("sha256").update(client).digest()])
      return respond(
        {
          clientDataJSON: client.toString("base64url"),
          authenticatorData: data.toString("base64url"),
          signature: (faults.signature ?? sign("sha256", signed, privateKey)).toString("base64url"),
          userHandle: faults.userHandle ?? userHandle,
        },
        faults,
      )
    },
  }
}

/** A statement with an untrusted certificate that names a revocation list. */
export function certified(signed: Buffer): Map<string, unknown> {
  return new Map<string, unknown>([
    ["alg", -7],
    ["sig", new Uint8Array(sign("sha256", signed, { key: certificateKey, format: "der", type: "pkcs8" }))],
    ["x5c", [new Uint8Array(certificate)]],
  ])
}

const certificateKey = Buffer.from(
  "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgunqK62liArUM+zo9SVAI481fgLQfNf9l7Wpj1u33iaihRANCAARQhlOOSdSahPKm30rxT6Vy2IQWtMpBy8MG8edFsb/PkG1CQwsLxAtKIJ5pPy/FMc6NJDqVnWOXiOhq2E01Yy/M",
  "base64",
)

// Made with openssl: the subject of an authenticator, valid until 2126, with a CRL distribution point.
const certificate = Buffer.from(
  "MIIB+TCCAaCgAwIBAgIUDVs18lJhCYcnqtt4QDfltMWKUaEwCgYIKoZIzj0EAwIwTzELMAkGA1UEBhMCVVMxDTALBgNVBAoMBFRlc3QxIjAgBgNVBAsMGUF1dGhlbnRpY2F0b3IgQXR0ZXN0YXRpb24xDTALBgNVBAMMBFRlc3QwIBcNMjYxMTI0MDk0NzI2WhgPMjEyNjEwMzEwOTQ3MjZaME8xCzAJBgNVBAYTAlVTMQ0wCwYDVQQKDARUZXN0MSIwIAYDVQQLDBlBdXRoZW50aWNhdG9yIEF0dGVzdGF0aW9uMQ0wCwYDVQQDDARUZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEUIZTjknUmoTypt9K8U+lctiEFrTKQcvDBvHnRbG/z5BtQkMLC8QLSiCeaT8vxTHOjSQ6lZ1jl4joathNNWMvzKNYMFYwDAYDVR0TAQH/BAIwADAnBgNVHR8EIDAeMBygGqAYhhZodHRwOi8vMTI3LjAuMC4xOjkvY3JsMB0GA1UdDgQWBBTQrq2jodl8QFoyEU7QQ0jurTWGGjAKBggqhkjOPQQDAgNHADBEAiB+04TwPc8as15s20MPT0xvb8EFG6qa0Re0U04Xhbk6ggIgBulm0t9Obj4CfsuwydrE6vLYwuXtGAlMt6mMZzg/erc=",
  "base64",
)
