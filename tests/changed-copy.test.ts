import { join } from "node:path"
import { test } from "vitest"
import { envNames } from "@/lib/env"
import { changedCopy } from "./support/changed-copy"
import { succeeds } from "./support/copy"

// See support/changed-copy.ts; removal.test.ts, rename.test.ts and replace-work.test.ts say what else is true of the copy.

const hour = 60 * 60_000

/** Without the variables of this test. */
const environment = Object.fromEntries([...envNames, "LONG"].map((name) => [name, ""]))

test(
  "npm test passes in a copy in which everything is changed that documents say how to change",
  { timeout: hour },
  () => succeeds(changedCopy, join(changedCopy, "tests/run.mjs"), [], environment),
)
