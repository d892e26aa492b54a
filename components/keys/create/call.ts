export type ApiResponse = { status: number; headers: Headers; text: string }

/**
 * Calls the API with a new key the way the owner's code does: with the Authorization header and without the session cookie.
 * @returns `undefined` when there was no response
 */
export async function callApi(path: string, secret: string, init: RequestInit = {}): Promise<ApiResponse | undefined> {
  try {
    const response = await fetch(path, {
      ...init,
      headers: { ...init.headers, Authorization: `Bearer ${secret}` },
      credentials: "omit",
      cache: "no-store",
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  } catch {
    return undefined
  }
}

type Body = { data?: { cost: number; balance: number }; error?: { message: string } }

export function bodyOf({ text }: ApiResponse): Body | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
