import type { ReactNode } from "react"
import { env } from "@/lib/env"
import { hexOf } from "@/lib/platform/text/color"
import { visible } from "@/lib/platform/text/visible-text"
import { product } from "@/lib/product"
import type { Block, EmailContent } from "./templates"

/** The colors of app/globals.css; many email clients know neither oklch nor variables. */
export const colors = {
  light: {
    page: [0.992, 0.002, 255],
    panel: [1, 0, 0],
    line: [0.905, 0.006, 255],
    ink: [0.235, 0.018, 258],
    muted: [0.475, 0.018, 258],
    accent: [0.455, 0.2, product.accentHue],
    "on-accent": [0.99, 0, 0],
  },
  dark: {
    page: [0.178, 0.01, 258],
    panel: [0.213, 0.011, 258],
    line: [0.315, 0.014, 258],
    ink: [0.935, 0.006, 258],
    muted: [0.72, 0.014, 258],
    accent: [0.765, 0.13, product.accentHue],
    "on-accent": [0.2, 0.05, product.accentHue],
  },
} satisfies Record<string, Record<string, Parameters<typeof hexOf>>>

function hex(name: keyof typeof colors.light, scheme: keyof typeof colors = "light"): string {
  return hexOf(...colors[scheme][name])
}

/** `!important` wins over the inline styles, which are for clients that remove style elements. */
const darkStyle = `@media (prefers-color-scheme: dark) {
.page { background: ${hex("page", "dark")} !important; color: ${hex("ink", "dark")} !important }
.panel { background: ${hex("panel", "dark")} !important; border-color: ${hex("line", "dark")} !important }
.muted { color: ${hex("muted", "dark")} !important }
.accent { color: ${hex("accent", "dark")} !important }
.button { background: ${hex("accent", "dark")} !important; color: ${hex("on-accent", "dark")} !important }
}`

/** Invisible characters are shown, because some emails contain names of keys. */
export async function render(email: EmailContent): Promise<{ html: string; text: string }> {
  // Next refuses a static import of this module in server code.
  const { renderToStaticMarkup } = await import("react-dom/server")
  const html = `<!DOCTYPE html>${renderToStaticMarkup(<HtmlPart {...email} />)}`
  return { html: visible(html), text: visible(textPart(email)) }
}

function reason({ because }: EmailContent): string {
  return `You received this email because ${because ?? `this address belongs to an account at ${env().BASE_URL}`}.`
}

function textPart(email: EmailContent): string {
  const footer = `${reason(email)}\nIf you need help, contact ${product.supportEmail}.\n`
  return [...email.body.map(textOf), footer].join("\n\n")
}

function textOf(block: Block): string {
  if (typeof block === "string") return block
  if ("list" in block) return block.list.map((item) => `- ${item}`).join("\n")
  if ("quote" in block) return block.quote.map((paragraph) => `> ${paragraph}`).join("\n>\n")
  return `${block.label}:\n${block.url}`
}

function HtmlPart(email: EmailContent): ReactNode {
  const main = email.body.find((block) => typeof block === "object" && "url" in block)
  return (
    <html lang="en">
      {/* biome-ignore lint/style/noHeadElement: this is an email, not a page. */}
      <head>
        <meta charSet="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="supported-color-schemes" content="light dark" />
        <title>{email.subject}</title>
        <style>{darkStyle}</style>
      </head>
      <body className="page" style={bodyStyle}>
        <div className="page" style={pageStyle}>
          <p className="accent" style={{ color: hex("accent"), fontSize: 18, fontWeight: 600, margin: "0 0 16px" }}>
            {product.name}
          </p>
          <div className="panel" style={panelStyle}>
            <h1 style={{ fontSize: 20, lineHeight: "28px", fontWeight: 600, margin: "0 0 16px" }}>{email.subject}</h1>
            {email.body.map((block) => (
              <HtmlBlock key={JSON.stringify(block)} block={block} isMain={block === main} />
            ))}
          </div>
          <p className="muted" style={footerStyle}>
            {reason(email)}
          </p>
          <p className="muted" style={footerStyle}>
            If you need help, contact{" "}
            <a href={`mailto:${product.supportEmail}`} className="accent" style={{ color: hex("accent") }}>
              {product.supportEmail}
            </a>
            .
          </p>
        </div>
      </body>
    </html>
  )
}

function HtmlBlock({ block, isMain }: { block: Block; isMain: boolean }): ReactNode {
  if (typeof block === "string") return <p style={{ margin: "0 0 16px" }}>{block}</p>
  if ("list" in block) {
    return (
      <ul style={{ margin: "0 0 16px", padding: "0 0 0 20px" }}>
        {block.list.map((item) => (
          <li key={item}>{item}</li>
        ))}
      </ul>
    )
  }
  if ("quote" in block) {
    return (
      <div className="panel" style={quoteStyle}>
        {block.quote.map((paragraph, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: paragraphs can be equal, and never change.
          <p key={index} className="muted" style={{ color: hex("muted"), margin: "0 0 8px" }}>
            {paragraph}
          </p>
        ))}
      </div>
    )
  }
  return (
    <p style={{ margin: "0 0 16px" }}>
      <a
        href={block.url}
        className={isMain ? "button" : "accent"}
        style={isMain ? buttonStyle : { color: hex("accent"), fontWeight: 600 }}
      >
        {block.label}
      </a>
    </p>
  )
}

const font = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif'

const bodyStyle = { margin: 0, padding: 0, background: hex("page") }

const pageStyle = {
  maxWidth: 560,
  margin: "0 auto",
  padding: "32px 16px",
  background: hex("page"),
  color: hex("ink"),
  fontFamily: font,
  fontSize: 16,
  lineHeight: "24px",
  overflowWrap: "anywhere",
} as const

const panelStyle = {
  padding: "24px 24px 8px",
  background: hex("panel"),
  border: `1px solid ${hex("line")}`,
  borderRadius: 12,
}

const quoteStyle = {
  margin: "0 0 16px",
  padding: "0 0 0 12px",
  background: hex("panel"),
  borderLeft: `3px solid ${hex("line")}`,
}

const buttonStyle = {
  display: "inline-block",
  padding: "10px 16px",
  borderRadius: 8,
  background: hex("accent"),
  color: hex("on-accent"),
  fontWeight: 600,
  textDecoration: "none",
}

const footerStyle = { color: hex("muted"), fontSize: 14, lineHeight: "20px", margin: "16px 0 0" }
