/** How long a proof counts, and how long a code, a sign-in or a connection waits for its next step. */
export const proofMinutes = 10
