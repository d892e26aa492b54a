import { build, isBuilt } from "./scripts/next"

const t = Date.now()
if (!(await isBuilt())) {
  const { ok, output } = await build()
  console.log(ok, ok ? "" : output, Date.now() - t)
}
process.exit(0)
