/** "1 credit", "1,200 credits" */
export function inCredits(amount: number): string {
  return `${amount.toLocaleString("en")} ${amount === 1 ? "credit" : "credits"}`
}
