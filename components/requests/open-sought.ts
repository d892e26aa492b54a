import { redirect } from "next/navigation"
import { isAccount } from "@/lib/accounts/data"
import type { OwnerId } from "@/lib/authority/owner"
import { findRequest, type RequestList, requestPage } from "@/lib/request-log/lists"

/** Opens the request whose id was entered into the search of the list. */
export async function openSought(
  list: RequestList,
  params: Readonly<Record<string, string | string[] | undefined>>,
  where: { userId?: OwnerId } = {},
): Promise<void> {
  const [[name, id] = [], ...others] = Object.entries(params).filter(([, value]) => value !== "")
  if ((name !== "requestId" && name !== "userId") || typeof id !== "string" || others.length > 0) return
  // A client may send the id of an account as that of its request.
  if (name === "userId" && (await isAccount(id))) return
  const found = await findRequest(id, where)
  if (found) redirect(requestPage(list, found))
}
