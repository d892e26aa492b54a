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
      /** It is unknown whether the form acted. */
      unknown?: true
      errors: FormErrors<Field>
      values: FormValues<Field>
    }

/** A server action made by lib/form/action.ts. */
export type FormAction<Field extends string = string, Done = unknown> = (
  last: unknown,
  data: FormData,
) => Promise<FormResult<Field, Done>>
