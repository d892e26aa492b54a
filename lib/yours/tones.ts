/** The color of each of your statuses; without one it is gray. */
export const tones: Readonly<Record<string, "good" | "warn" | "bad">> = {}
