/**
 * The permissions that your product adds, each with a description. Owners and admins hold every one, and analysts hold each
 * `.read`.
 */
export const permissions = {} as const satisfies Readonly<Record<`${string}.${string}`, string>>

/** The permissions of further roles. */
export const roles: Readonly<Record<"support" | "finance" | "bookkeeper", readonly (keyof typeof permissions)[]>> = {
  support: [],
  finance: [],
  bookkeeper: [],
}
