export const graceDays = 7
