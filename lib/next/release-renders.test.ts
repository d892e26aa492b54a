import { AsyncLocalStorage } from "node:async_hooks"
import { setImmediate as nextTurn } from "node:timers/promises"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { expect, test } from "vitest"
import { releaseFinishedRenders } from "./release-renders"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

/** As React does when a page is rendered, in the context of its request. */
function render(controller: AbortController): Promise<WeakRef<object>> {
  const request = {}
  const context = new AsyncLocalStorage<object>()
  return new Promise((done) => {
    context.run(request, () =>
      setImmediate(() => {
        controller.abort(new Error("The render is over."))
        done(new WeakRef(request))
      }),
    )
  })
}

test("a signal that is kept after a render keeps nothing of the render's request", async () => {
  releaseFinishedRenders()
  const controller = new AbortController()
  const request = await render(controller)
  await nextTurn()
  collectGarbage()
  expect(controller.signal.reason).toMatchObject({ message: "The render is over." })
  expect(request.deref()).toBeUndefined()
})
