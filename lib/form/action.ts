import { cookies, headers } from "next/headers"
import { after } from "next/server"
import { z } from "zod"
import { holds, type Permission } from "@/lib/permissions"
import { cookieName } from "@/lib/platform/http/cookies"
import { isSameOrigin } from "@/lib/platform/http/origin"
import { markRead, respondOverloaded } from "@/lib/platform/http/responses"
import { isDatabaseUnavailable } from "@/lib/platform/postgres/failures"
import { clientAddress } from "@/lib/platform/rate-limit/client-address"
import { isHidden, isSecret, isShownAgain, textsOf } from "@/lib/platform/schemas/form-fields"
import { log } from "@/lib/platform/telemetry/log"
import { inMinutes } from "@/lib/platform/text/format-time"
import type { Client } from "@/lib/sign-in/attempts"
import { currentViewer, refreshSession, type Viewer } from "@/lib/sign-in/browser-session"
import { checkProof, type ProofRequest, type TypedProof } from "@/lib/sign-in/fresh-proof"
import { TooManyPasswords } from "@/lib/sign-in/passwords/password-hash"

/** The values of a form's fields as they were typed, to be shown again; without passwords. */
export type FormValues<Field extends string = string> = { readonly [Name in Field]?: string }

/** The message of each field that was refused. */
export type FormErrors<Field extends string = string> = { readonly [Name in Field]?: string }

/** The result of every form. A refusal has a message, the errors of fields, or both. */
export type FormResult<Field extends string = string, Done = unknown> =
  | { ok: true; done: Done }
  | {
      ok: false
      message?: string
      /** The viewer is signed out. */
      signedOut?: true
      /** The viewer has to prove who they are; the same form asks for it. `retype`: it has passwords, which are not kept. */
      proof?: ProofRequest & { retype: boolean }
      /** It is unknown whether the form acted. */
      unknown?: true
      errors: FormErrors<Field>
      values: FormValues<Field>
    }

/** A server action made by formAction or guestFormAction. */
export type FormAction<Field extends string = string, Done = unknown> = (
  last: unknown,
  data: FormData,
) => Promise<FormResult<Field, Done>>

type FieldOf<Fields extends z.ZodObject> = keyof z.input<Fields> & string

type Refused<Field extends string> = {
  ok: false
  message?: string
  signedOut?: true
  proof?: ProofRequest & { retype: boolean }
  unknown?: true
  errors?: FormErrors<Field>
}

/** What `act` returns: see done, refused, retryLater and invalid. It may also redirect. */
export type Outcome<Field extends string, Done> = { ok: true; done: Done } | Refused<Field>

type Act<Fields extends z.ZodObject, Context, Done> = (
  form: z.output<Fields>,
  context: Context,
) => Promise<Outcome<FieldOf<Fields>, Done>>

/**
 * The server action of a form for signed-in accounts. Checks, in this order: origin, session, account, permission, fields,
 * fresh proof. Nothing throws for what a person can mend: the result is a refusal with what was typed.
 */
export function formAction<Fields extends z.ZodObject, Done>({
  fields,
  permission,
  fresh,
  act,
}: {
  fields: Fields
  /** `null` admits every signed-in account. */
  permission: Permission | null
  /**
   * Whether it asks for a fresh proof; tests/http/reviewed-proof.ts has the reason if it does not. "second factor": only
   * of accounts that have one, because the form has the password in a field of its own.
   */
  fresh: boolean | "second factor"
  act: Act<Fields, Client & { viewer: Viewer }, Done>
}): FormAction<FieldOf<Fields>, Done> {
  return (_last, data) =>
    submit(fields, data, async (client) => {
      const viewer = await currentViewer()
      if (!viewer) return signedOut
      if (isOfAnother(data, viewer)) return ofAnother
      if (permission && !holds(viewer.role, permission)) return refused(`Your role lacks the permission ${permission}.`)
      return parsed(fields, data, async (form) => {
        const asks = fresh === true || (fresh === "second factor" && viewer.twoFactor)
        if (!asks || viewer.isFresh) return act(form, { ...client, viewer })
        const checked = await checkProof(viewer, typedProof(data), client)
        if (checked.message) after(checked.message)
        if (!checked.ok) return { ok: false, proof: { ...checked.request, retype: hasSecrets(fields, data) } }
        const proved = await refreshSession(viewer)
        return proved ? act(form, { ...client, viewer: proved }) : signedOut
      })
    })
}

/** A form without the field is of no page of ours. */
function isOfAnother(data: FormData, viewer: Viewer): boolean {
  return data instanceof FormData && data.has("viewerId") && data.get("viewerId") !== viewer.id
}

const ofAnother = refused(
  "This page is of another account: you have signed in to a different one in this browser. Reload the page.",
)

const proofFields = z.object({ proof: z.string(), anotherCode: z.string(), passkey: z.string() })

/** What the form's fields for the proof contain: see components/form/proof-field.tsx. */
function typedProof(data: FormData): TypedProof {
  const { proof, anotherCode, passkey } = proofFields.parse(textsOf(proofFields, data))
  const isAsked = data instanceof FormData && data.has("proof")
  return { proof: isAsked ? proof : undefined, another: anotherCode !== "", passkey }
}

function hasSecrets(fields: z.ZodObject, data: FormData): boolean {
  return Object.entries(textsOf(fields, data)).some(([name, text]) => text !== "" && isSecret(fields, name))
}

/** The server action of a form that needs no account. */
export function guestFormAction<Fields extends z.ZodObject, Done>({
  fields,
  act,
}: {
  fields: Fields
  act: Act<Fields, Client, Done>
}): FormAction<FieldOf<Fields>, Done> {
  return (_last, data) => submit(fields, data, (client) => parsed(fields, data, (form) => act(form, client)))
}

async function submit<Fields extends z.ZodObject, Done>(
  fields: Fields,
  data: FormData,
  decide: (client: Client) => Promise<Outcome<FieldOf<Fields>, Done>>,
) {
  markRead(await headers())
  const outcome = (await isSameOrigin()) ? await decide(await client()).catch(unavailable) : foreign
  if (outcome.ok) return outcome
  const typed = Object.entries(textsOf(fields, data)).filter(([name]) => isShownAgain(fields, name))
  return { errors: {}, ...outcome, values: Object.fromEntries(typed) as FormValues<FieldOf<Fields>> }
}

/** Acts on valid fields. The message of a hidden field would be shown nowhere, and no typing can mend it. */
async function parsed<Fields extends z.ZodObject, Done>(
  fields: Fields,
  data: FormData,
  act: (form: z.output<Fields>) => Promise<Outcome<FieldOf<Fields>, Done>>,
): Promise<Outcome<FieldOf<Fields>, Done>> {
  const form = fields.safeParse(textsOf(fields, data))
  if (form.success) return act(form.data)
  const errors: Record<string, string> = {}
  for (const { path, message } of form.error.issues) {
    if (path.length === 0) return refused(message)
    const name = String(path[0])
    if (isHidden(fields, name)) return refused("This form is incomplete. Reload the page and try again.")
    errors[name] ??= message
  }
  return invalid(errors as FormErrors<FieldOf<Fields>>)
}

const foreign = refused("This form was not sent from this site. Reload the page and try again.")

async function unavailable(error: unknown): Promise<Refused<never>> {
  if (error instanceof TooManyPasswords) {
    respondOverloaded(await headers())
    return refused("The service is busy checking passwords. Try again in a moment.")
  }
  if (!isDatabaseUnavailable(error)) throw error
  log().error({ why: error instanceof Error ? error.stack : String(error) }, "service_unavailable")
  return { ...refused("The service is unavailable right now. Try again in a moment."), unknown: true }
}

async function client(): Promise<Client> {
  return { address: clientAddress(await headers()), device: (await cookies()).get(cookieName("device"))?.value }
}

/** @param done what the form shows of the result, if anything */
export function done<Done = undefined>(done?: Done) {
  return { ok: true, done: done as Done } as const
}

/** The form then links to the sign-in page. */
export const signedOut = { ok: false, signedOut: true } as const

/** For an account that has been authenticated, and for which no session starts: see createSession. */
export const changedMeanwhile = refused("Your account has just changed. Sign in again.")

/** What a form says when it is done, with a link to what follows from it if there is one. */
export type Message = string | { text: string; href: string; link: string }

/** Refused as a whole, with a message above the fields. */
export function refused(message: string): { ok: false; message: string } {
  return { ok: false, message }
}

/** Refused by a rate limit. */
export function retryLater(why: string, { retryAfterSeconds }: { retryAfterSeconds: number }) {
  return refused(`${why}. Try again ${inMinutes(retryAfterSeconds)}.`)
}

/** Refused for the values of fields, with a message at each. */
export function invalid<Field extends string>(errors: FormErrors<Field>): { ok: false; errors: FormErrors<Field> } {
  return { ok: false, errors }
}
