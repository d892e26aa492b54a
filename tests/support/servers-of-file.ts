import { afterAll } from "vitest"
import { actBeforeFile, stopServersOfFile } from "./server"

// Runs before each test file.
await actBeforeFile()
afterAll(stopServersOfFile)
