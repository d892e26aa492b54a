import { provideBuild } from "@/tests/support/lifecycle"

export default provideBuild
