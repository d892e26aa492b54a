import { crc32, inflateRawSync } from "node:zlib"

/** The files of a ZIP by name, read from its central directory; throws if it is incomplete or damaged. */
export function unzip(zip: Buffer): Map<string, string> {
  const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]))
  if (end < 0) throw new Error("The ZIP has no end.")
  const files = new Map<string, string>()
  let at = zip.readUInt32LE(end + 16)
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const [crc, packed] = [zip.readUInt32LE(at + 16), zip.readUInt32LE(at + 20)]
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((field) => zip.readUInt16LE(at + field))
    const name = zip.toString("utf8", at + 46, at + 46 + (nameLength ?? 0))
    const local = zip.readUInt32LE(at + 42)
    const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
    const content = inflateRawSync(zip.subarray(start, start + packed))
    if (crc32(content) !== crc) throw new Error(`${name} is damaged.`)
    files.set(name, content.toString())
    at += 46 + (nameLength ?? 0) + (extraLength ?? 0) + (commentLength ?? 0)
  }
  return files
}
