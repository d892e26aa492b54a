import { product } from "@/lib/product"

export function SupportLink() {
  return (
    <a href={`mailto:${product.supportEmail}`} className="underline">
      {product.supportEmail}
    </a>
  )
}
