import { expect, test } from "vitest"
import { textFields } from "./form"

test("the text fields of a form are taken by name, and nothing else of it", () => {
  const form = new FormData()
  form.set("name", "Nova")
  form.set("$ACTION_ID", "1")
  form.set("file", new File(["x"], "x.txt"))
  expect(textFields(form, "name", "file", "missing")).toEqual({ name: "Nova", file: "", missing: "" })
})

test.each([[null], [undefined], ["x\n{}"], [["x\ny"]], [{ name: "x" }]])(
  "what is no form has empty fields: %j",
  (data) => {
    expect(textFields(data, "name")).toEqual({ name: "" })
  },
)
