import { provideBuild } from "./lifecycle"

await provideBuild()
