import {
  type Described,
  type Documented,
  describeBody,
  describeFamily,
  describeFields,
  describeParameters,
  operationId,
} from "@/lib/api/documents/document"

/** A list of parameters or fields in the section of an endpoint. `id`: the beginning of the anchors of its items. */
export type EndpointPart = { id: string; title: string; kind: "parameter" | "field"; items: readonly Described[] }

export function partsOf(endpoint: Documented): EndpointPart[] {
  const { shape, filters, parameters, body, data, meta, families = [] } = endpoint
  // The dimensions and measures of metrics are described with their family.
  const counted = families.flatMap(({ family }) => describeFamily(family).map(({ name }) => name))
  const isOther = ({ name }: Described) => !counted.includes(name)
  const parts: EndpointPart[] = [
    {
      id: "parameters",
      title: "Parameters, in addition to each dimension as a filter",
      kind: "parameter",
      items: shape === "metrics" ? describeParameters(parameters).filter(isOther) : [],
    },
    { id: "filters", title: "Filters", kind: "parameter", items: shape === "list" ? describeParameters(filters) : [] },
    { id: "body", title: "Body fields", kind: "parameter", items: body ? describeBody(body) : [] },
    {
      id: "data",
      title: shape === "object" ? "Data fields" : "Row fields",
      kind: "field",
      items: describeFields(data).filter(isOther),
    },
    ...families.map(({ family, permission }) => ({
      id: family.name,
      title: `Family ${family.name}, permission ${permission}`,
      kind: "field" as const,
      items: describeFamily(family),
    })),
    { id: "meta", title: "Additional meta fields", kind: "field", items: describeFields(meta) },
  ]
  return parts
    .filter(({ items }) => items.length > 0)
    .map((part) => ({ ...part, id: anchorOf(operationId(endpoint), part.id) }))
}

export function anchorOf(place: string, name: string): string {
  return `${place}-${name}`
}
