/** For so many days the deletion of an account can be undone. */
export const graceDays = 7
