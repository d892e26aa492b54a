import { cookies } from "next/headers"
import { z } from "zod"
import { cookieName, cookieOptions } from "./cookies"

export const theme = z.enum(["system", "light", "dark"])

export type Theme = z.output<typeof theme>

const days = 24 * 3600

export async function chosenTheme(): Promise<Theme> {
  return theme.catch("system").parse((await cookies()).get(cookieName("theme"))?.value)
}

export async function chooseTheme(chosen: Theme): Promise<void> {
  const jar = await cookies()
  jar.set(cookieName("theme"), chosen, { ...cookieOptions(), maxAge: 365 * days })
}
