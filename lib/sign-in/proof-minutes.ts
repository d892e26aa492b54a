export const proofMinutes = 10
