/** How long the usage of a key is kept, and after its end what it did. */
export const usageDays = 400
