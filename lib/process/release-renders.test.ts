import { AsyncLocalStorage } from "node:async_hooks"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { expect, test } from "vitest"
import { releaseFinishedRenders } from "./release-renders"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

/** Aborts in a setImmediate within the request's async context, as React does when it has rendered a page. */
function render(controller: AbortController): Promise<WeakRef<object>> {
  const request = {}
  const context = new AsyncLocalStorage<object>()
  return new Promise((done) => {
    context.run(request, () =>
      setImmediate(() => {
        controller.abort(new Error("The render has ended."))
        done(new WeakRef(request))
      }),
    )
  })
}

test("an abort signal that outlives a render does not retain the render's request", async () => {
  releaseFinishedRenders()
  const controller = new AbortController()
  const request = await render(controller)
  // Other Immediates of this process may hold the context for a turn. A poll that returned the object would retain it.
  const isRetained = () => {
    collectGarbage()
    return request.deref() !== undefined
  }
  await expect.poll(isRetained).toBe(false)
  expect(controller.signal.reason).toMatchObject({ message: "The render has ended." })
})
