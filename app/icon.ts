import { keyholes } from "@/components/page/wordmark"
import { product } from "@/lib/product"

export const contentType = "image/svg+xml"

export default function icon(): Response {
  const square = `<rect width="20" height="20" rx="5" fill="oklch(0.475 0.165 ${product.accentHue})"/>`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20">${square}<path fill="#fff" d="${keyholes}"/></svg>`
  return new Response(svg, { headers: { "Content-Type": contentType } })
}
