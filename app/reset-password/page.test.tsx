import { renderToStaticMarkup } from "react-dom/server"
import { afterEach, expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import ResetPasswordPage from "./page"

vi.mock("@/lib/sign-in/browser-session", () => ({ currentViewer: async () => null }))

afterEach(() => {
  delete env().SMTP_URL
})

test("without a mail server the page shows the operator's command and no form", async () => {
  const page = renderToStaticMarkup(await ResetPasswordPage())
  expect(page).toContain("npm run user:password -- EMAIL")
  expect(page).not.toContain("<form")
})

test("with a mail server the page shows the form", async () => {
  env().SMTP_URL = "smtp://127.0.0.1:25"
  const page = renderToStaticMarkup(await ResetPasswordPage())
  expect(page).toContain('type="email"')
  expect(page).not.toContain("npm run")
})
