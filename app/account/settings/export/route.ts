import { Refusal, refuseAs } from "@/lib/api/errors"
import { said } from "@/lib/api/said"
import { failureOf, fileOf, readerOfPage } from "@/lib/api/streams/download"
import { openChunks, refuseSlot } from "@/lib/api/streams/stream"
import { exportOf } from "@/lib/leaving/export"
import { consumeExport } from "@/lib/leaving/export-token"
import { isSameOrigin } from "@/lib/platform/http/origin"
import { openSnapshot } from "@/lib/platform/postgres/cursor"
import { foldBeforeReading } from "@/lib/platform/postgres/request-sums"
import { clientAddress } from "@/lib/platform/rate-limit/client-address"
import { product } from "@/lib/product"
import { currentViewer } from "@/lib/sign-in/browser-session"
import { findViewer, type Viewer } from "@/lib/sign-in/session-rows"
import type { Outcome } from "./outcomes"

class Unavailable extends Error {}

/** Each token works once, and is not in the URL. */
export async function POST(request: Request): Promise<Response> {
  try {
    if (!(await isSameOrigin())) return refuseAs("forbidden", said`This form was not sent from this site.`)
    const viewer = await currentViewer()
    if (!viewer) return seeOther("/sign-in?callbackUrl=/account/settings")
    const token = await tokenIn(request)
    const check = async () => {
      const again = await findViewer({ sub: viewer.id, sid: viewer.sessionId })
      if (!again) refuseAs("forbidden", said`You are no longer signed in. Sign in again to export your data.`)
    }
    const reader = readerOfPage(request, { id: readerOf(viewer), account: viewer.id, kind: "export", check })
    const body = await openChunks(reader, "application/zip", (maxMs) =>
      open(viewer, token, clientAddress(request.headers), maxMs),
    )
    return fileOf(body, `${product.slug}-export`, "zip")
  } catch (error) {
    if (error instanceof Unavailable) return seeOther(pageAfter("expired"))
    if (error instanceof Refusal && error.code === "rate_limited") return seeOther(pageAfter("busy"))
    return failureOf(error, request)
  }
}

/** Separate from the account's other streams, so that the export works while they are read. */
function readerOf({ id }: Viewer): string {
  return `export of ${id}`
}

/** Takes the slot first, so that another download in progress does not use up the token. */
async function open(viewer: Viewer, token: string, address: string, maxMs: number) {
  await foldBeforeReading()
  const snapshot = (await openSnapshot(readerOf(viewer), maxMs)) ?? refuseSlot("own")
  try {
    if (await consumeExport(viewer, token, address)) return exportOf(viewer.id, snapshot)
    throw new Unavailable()
  } catch (error) {
    snapshot.abort()
    throw error
  }
}

/** A refusal redirects, because the browser has left the page of the form for this response. */
function pageAfter(outcome: Outcome): string {
  return `/account/settings?export=${outcome}#export`
}

function seeOther(location: string): Response {
  return new Response(null, { status: 303, headers: { location, "Cache-Control": "no-store" } })
}

async function tokenIn(request: Request): Promise<string> {
  const token = (await request.formData().catch(() => null))?.get("token")
  return typeof token === "string" ? token : ""
}
