/**
 * The oldest version whose servers run on this schema and with these rights of the runtime role. A release that removes
 * something that earlier ones used raises it, at most to the release before, which keeps running during the upgrade.
 */
export const oldestBuild = "0.1.0"

/** The last migration of the last release. */
export const released = "20261122220212_sign_ups_without_email_index"
