import sharp from "sharp"
import { fairQueue } from "@/lib/platform/queues/fair-queue"
import { singleton } from "@/lib/singleton"
import { maxPixels } from "./limits"

/** Pixels: an avatar's, on a screen with three pixels to one. */
const side = 128

const bounds = { maxRunning: 1, maxWaiting: 16, maxWaitMs: 10_000 }

// Pictures are not decoded twice.
sharp.cache(false)
sharp.concurrency(1)

type Thumbnail =
  | { ok: true; image: Uint8Array<ArrayBuffer> }
  | { ok: false; reason: "wrong_type" | "unreadable" | "busy" }

/** Without metadata, such as the place where a photo was taken. @param account uploads of accounts take turns */
export async function thumbnailOf(bytes: Uint8Array, account: string): Promise<Thumbnail> {
  if (!isPicture(bytes)) return { ok: false, reason: "wrong_type" }
  const enter = singleton("picture-queue", () => fairQueue(bounds))
  const leave = await enter({ id: account, isKnown: true })
  if (!leave) return { ok: false, reason: "busy" }
  try {
    const image = await sharp(bytes, { limitInputPixels: maxPixels, failOn: "error", autoOrient: true })
      .timeout({ seconds: 5 })
      .resize(side, side, { fit: "cover" })
      .webp()
      .toBuffer()
    return { ok: true, image: new Uint8Array(image) }
  } catch {
    return { ok: false, reason: "unreadable" }
  } finally {
    leave()
  }
}

/** By its first bytes: the client chooses its name and type. */
function isPicture(bytes: Uint8Array): boolean {
  const start = Buffer.from(bytes.subarray(0, 12)).toString("latin1")
  return start.startsWith("\x89PNG\r\n\x1a\n") || start.startsWith("\xff\xd8\xff") || /^RIFF.{4}WEBP$/s.test(start)
}
