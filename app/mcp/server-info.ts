import { product } from "@/lib/product"

export const serverInfo = { name: product.slug, title: product.name, version: "1" }
