/** The permissions that your product adds, each with what it allows. Owners and admins hold all, analysts those that end in `.read`. */
export const permissions = {} as const satisfies Readonly<Record<`${string}.${string}`, string>>

/** Which of them further roles hold. */
export const roles: Readonly<Record<"support" | "finance" | "bookkeeper", readonly (keyof typeof permissions)[]>> = {
  support: [],
  finance: [],
  bookkeeper: [],
}
