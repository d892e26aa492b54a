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
import { recordWrite } from "@/lib/sign-in/session-rows"

/** Contains no passwords. */
export type FormValues<Field extends string = string> = { readonly [Name in Field]?: string }

export type FormErrors<Field extends string = string> = { readonly [Name in Field]?: string }

export type FormResult<Field extends string = string, Done = unknown> =
  | { ok: true; done: Done }
  | {
      ok: false
      message?: string
      signedOut?: true
      /** `retype`: passwords are not kept, so the viewer types them again. */
      proof?: ProofRequest & { retype: boolean }
      /** It is unknown whether the form acted. */
      unknown?: true
      errors: FormErrors<Field>
      values: FormValues<Field>
    }

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

export type Outcome<Field extends string, Done> = { ok: true; done: Done } | Refused<Field>

type Act<Fields extends z.ZodObject, Context, Done> = (
  form: z.output<Fields>,
  context: Context,
) => Promise<Outcome<FieldOf<Fields>, Done>>

/** Checks, in this order: origin, session, account, permission, fields, fresh proof. */
export function formAction<Fields extends z.ZodObject, Done>({
  fields,
  permission,
  fresh,
  act,
}: {
  fields: Fields
  /** `null` allows every signed-in account. */
  permission: Permission | null
  /**
   * tests/http/reviewed-proof.ts has the reason for each `false`. "second factor": only of accounts with one, because
   * the form has the password in its own field.
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
      const perform: typeof act = (form, context) => act(form, context).finally(() => recordWrite(viewer))
      return parsed(fields, data, async (form) => {
        const asks = fresh === true || (fresh === "second factor" && viewer.twoFactor)
        if (!asks || viewer.isFresh) return perform(form, { ...client, viewer })
        const checked = await checkProof(viewer, typedProof(data), client)
        if (checked.message) after(checked.message)
        if (!checked.ok) return { ok: false, proof: { ...checked.request, retype: hasSecrets(fields, data) } }
        const proved = await refreshSession(viewer)
        return proved ? perform(form, { ...client, viewer: proved }) : signedOut
      })
    })
}

/** A form without the field is not from a page of the product. */
function isOfAnother(data: FormData, viewer: Viewer): boolean {
  return data instanceof FormData && data.has("viewerId") && data.get("viewerId") !== viewer.id
}

const ofAnother = refused(
  "This page belongs to another account: you have signed in to a different one in this browser. Reload the page.",
)

const proofFields = z.object({ proof: z.string(), anotherCode: z.string(), passkey: z.string() })

function typedProof(data: FormData): TypedProof {
  const { proof, anotherCode, passkey } = proofFields.parse(textsOf(proofFields, data))
  const isAsked = data instanceof FormData && data.has("proof")
  return { proof: isAsked ? proof : undefined, another: anotherCode !== "", passkey }
}

function hasSecrets(fields: z.ZodObject, data: FormData): boolean {
  return Object.entries(textsOf(fields, data)).some(([name, text]) => text !== "" && isSecret(fields, name))
}

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

/** A hidden field shows no message, and the viewer cannot correct it. */
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

export function done<Done = undefined>(done?: Done) {
  return { ok: true, done: done as Done } as const
}

export const signedOut = { ok: false, signedOut: true } as const

/** For an authenticated account for which no session starts: see createSession. */
export const changedMeanwhile = refused("Your account has just changed. Sign in again.")

export type Message = string | { text: string; href: string; link: string }

export function refused(message: string): { ok: false; message: string } {
  return { ok: false, message }
}

export function retryLater(why: string, { retryAfterSeconds }: { retryAfterSeconds: number }) {
  return refused(`${why}. Try again ${inMinutes(retryAfterSeconds)}.`)
}

export function invalid<Field extends string>(errors: FormErrors<Field>): { ok: false; errors: FormErrors<Field> } {
  return { ok: false, errors }
}
