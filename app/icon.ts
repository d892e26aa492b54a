import { locks } from "@/components/values/lock"
import { product } from "@/lib/product"

export const contentType = "image/svg+xml"

export default function icon(): Response {
  const { user, admin } = locks
  const plates = [
    `<path fill="oklch(0.455 0.2 ${product.accentHue})" d="${user.plate}"/>`,
    `<path fill="oklch(0.455 0.2 ${product.adminHue})" d="${admin.plate}"/>`,
  ]
  const keyholes = `<path fill="#fff" d="${user.keyhole}${admin.keyhole}"/>`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20">${plates.join("")}${keyholes}</svg>`
  return new Response(svg, { headers: { "Content-Type": contentType } })
}
