import { statfs } from "node:fs/promises"
import { tmpdir } from "node:os"

const inMemory = "/dev/shm"

/** Containers often have 64 MB there, which a test run exceeds. */
const neededBytes = 4 * 1024 ** 3

/** The folder for databases of tests: in memory if there is room, because that takes a tenth of the time. */
export async function directoryInMemory(): Promise<string> {
  const free = await statfs(inMemory).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  return free > neededBytes ? inMemory : tmpdir()
}
