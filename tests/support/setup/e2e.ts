import { provide } from "../provide"

await provide("browser", "curl", "python")
