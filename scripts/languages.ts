import { canInstall, installPackage } from "./apt"
import { onPath } from "./programs"

/** Installs what the requests of the reference are tested with, where it is missing and this user may. */
export async function provideLanguages(): Promise<void> {
  for (const name of ["curl", "python3"]) {
    if (onPath(name)) continue
    if (canInstall()) await installPackage(name)
    if (!onPath(name)) throw new Error(`The tests need ${name}: install it.`)
  }
}
