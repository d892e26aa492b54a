import { afterAll } from "vitest"
import { stopServersOfFile } from "./server"

// Runs before each test file.
afterAll(stopServersOfFile)
