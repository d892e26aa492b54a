import { crc32, deflateSync } from "node:zlib"
import sharp from "sharp"
import { expect, test } from "vitest"
import { thumbnailOf } from "./thumbnail"

const [red, blue] = ["#ff0000", "#0000ff"]

/** Twice as wide as it is high, red on the left and blue on the right. */
function halves() {
  const right = { create: { width: 200, height: 200, channels: 3 as const, background: blue } }
  return sharp({ create: { width: 400, height: 200, channels: 3, background: red } }).composite([
    { input: right, left: 200, top: 0 },
  ])
}

async function imageOf(bytes: Uint8Array): Promise<Uint8Array> {
  const result = await thumbnailOf(bytes, "an account")
  return result.ok ? result.image : expect.fail(result.reason)
}

async function reasonOf(bytes: Uint8Array): Promise<string> {
  const result = await thumbnailOf(bytes, "an account")
  return result.ok ? "accepted" : result.reason
}

/** The color of a pixel of a thumbnail: "red" or "blue". */
async function colorAt(image: Uint8Array, x: number, y: number): Promise<string> {
  const { data, info } = await sharp(image).removeAlpha().raw().toBuffer({ resolveWithObject: true })
  const at = (y * info.width + x) * info.channels
  return (data[at] ?? 0) > (data[at + 2] ?? 0) ? "red" : "blue"
}

const kinds = {
  PNG: () => halves().png().toBuffer(),
  JPEG: () => halves().jpeg().toBuffer(),
  WebP: () => halves().webp().toBuffer(),
}

test.each(Object.entries(kinds))("a %s becomes a square WebP of its middle", async (_kind, make) => {
  const image = await imageOf(await make())
  expect(await sharp(image).metadata()).toMatchObject({ format: "webp", width: 128, height: 128 })
  expect([await colorAt(image, 4, 64), await colorAt(image, 123, 64)]).toEqual(["red", "blue"])
})

test("a photo is upright, and does not say where it was taken", async () => {
  const place = { IFD3: { GPSLatitudeRef: "N", GPSLatitude: "51/1 30/1 0/1" }, IFD0: { Make: "A camera" } }
  // Orientation 6: the left side of the stored picture is the top.
  const photo = await halves().withExif(place).withMetadata({ orientation: 6 }).jpeg().toBuffer()
  expect((await sharp(photo).metadata()).orientation).toBe(6)
  const image = await imageOf(photo)
  expect([await colorAt(image, 64, 4), await colorAt(image, 64, 123)]).toEqual(["red", "blue"])
  const { exif, xmp, icc, orientation } = await sharp(image).metadata()
  expect({ exif, xmp, icc, orientation }).toEqual({})
  const located = await halves().withExif(place).jpeg().toBuffer()
  expect((await sharp(located).metadata()).exif).toBeDefined()
  expect((await sharp(await imageOf(located)).metadata()).exif).toBeUndefined()
})

test("the first frame of an animated WebP is taken", async () => {
  const frames = await Promise.all(
    [red, blue].map((background) =>
      sharp({ create: { width: 64, height: 64, channels: 3, background } })
        .png()
        .toBuffer(),
    ),
  )
  const moving = await sharp(frames, { join: { animated: true } })
    .webp({ loop: 0 })
    .toBuffer()
  expect((await sharp(moving).metadata()).pages).toBe(2)
  const image = await imageOf(moving)
  expect((await sharp(image).metadata()).pages ?? 1).toBe(1)
  expect(await colorAt(image, 64, 64)).toBe("red")
})

test.each<[string, () => Promise<Uint8Array> | Uint8Array]>([
  ["nothing", () => new Uint8Array()],
  ["a GIF", () => halves().gif().toBuffer()],
  ["a TIFF", () => halves().tiff().toBuffer()],
  ["an SVG", () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')],
  ["HTML", () => Buffer.from("<!doctype html><script>alert(1)</script>")],
  ["HEIC", () => Buffer.from("\0\0\0\x18ftypheic\0\0\0\0")],
])("%s is not a picture under any name", async (_what, make) => {
  expect(await reasonOf(await make())).toBe("wrong_type")
})

test.each(Object.entries(kinds))("a %s that is cut off or damaged is refused", async (_kind, make) => {
  const whole = await make()
  for (const part of [12, 40, whole.length / 2]) {
    expect(await reasonOf(whole.subarray(0, part)), `${part} bytes`).toBe("unreadable")
  }
  expect(await reasonOf(Buffer.concat([whole.subarray(0, 12), Buffer.alloc(500, 0x41)]))).toBe("unreadable")
})

function chunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(content))
  return Buffer.concat([length, content, sum])
}

/** A black PNG with one bit for each pixel. */
function blackPng(side: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  header[8] = 1
  const rows = deflateSync(Buffer.alloc(side * (1 + side / 8)))
  const chunks = [chunk("IHDR", header), chunk("IDAT", rows), chunk("IEND", Buffer.alloc(0))]
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), ...chunks])
}

test("a small file of 400 million pixels is refused before they are decoded", async () => {
  const [picture, bomb] = [blackPng(4_000), blackPng(20_000)]
  expect(bomb.length).toBeLessThan(100_000)
  // CPU time of all threads: wall-clock time depends on other processes.
  const cpuOf = async (bytes: Buffer, outcome: string) => {
    const before = process.cpuUsage()
    expect(await reasonOf(bytes)).toBe(outcome)
    return process.cpuUsage(before).user
  }
  const accepted = await cpuOf(picture, "accepted")
  expect(await cpuOf(bomb, "unreadable")).toBeLessThan(accepted)
})

test("when too many pictures wait, the excess is refused, and the others are decoded", async () => {
  const bytes = await kinds.PNG()
  const results = await Promise.all(Array.from({ length: 40 }, (_, index) => thumbnailOf(bytes, `account ${index}`)))
  const outcomes = results.map((result) => (result.ok ? "accepted" : result.reason))
  expect(new Set(outcomes)).toEqual(new Set(["accepted", "busy"]))
  expect(outcomes.filter((outcome) => outcome === "accepted")).toHaveLength(17)
})
