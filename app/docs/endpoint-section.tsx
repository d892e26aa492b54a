import type { ReactNode } from "react"
import { CodePanel } from "@/components/code/code-panel"
import { RequestPanels } from "@/components/code/language-choice"
import { readableJson } from "@/components/code/readable-json"
import { Breakable } from "@/components/values/breakable"
import {
  conventions,
  type Documented,
  describeBody,
  describeFamily,
  describeFields,
  describeParameters,
  operationId,
} from "@/lib/api/documents/document"
import { sharedParameters } from "@/lib/api/parameters"
import { DescribedList } from "./described-list"
import { Code, Prose } from "./prose"

export function EndpointSection({ endpoint, baseUrl }: { endpoint: Documented; baseUrl: string }) {
  const { method, path, summary, permission, scope, filters, parameters, metered, data, meta, example } = endpoint
  const { families = [] } = endpoint
  const id = operationId(endpoint)
  const extra = describeFields(meta)
  // The dimensions and measures of metrics are described with their family.
  const counted = families.flatMap(({ family }) => describeFamily(family).map(({ name }) => name))
  const isOther = ({ name }: { name: string }) => !counted.includes(name)
  return (
    <section
      id={id}
      aria-labelledby={`${id}-title`}
      className="grid scroll-mt-14 gap-x-8 gap-y-4 border-line py-8 not-first-of-type:border-t xl:grid-cols-2"
    >
      <div className="grid min-w-0 content-start gap-4">
        <div className="grid gap-1">
          <h2 id={`${id}-title`} className="text-base font-semibold">
            <a href={`#${id}`} className="wrap-anywhere hover:underline">
              <span className="text-accent">{method}</span> <Breakable after="/">{path}</Breakable>
            </a>
          </h2>
          <p>
            <Prose>{`${summary}.`}</Prose>
          </p>
          {scope && (
            <p className="text-muted">
              {permission ? "Permission and scope" : "Scope"}: <Code>{scope}</Code>
            </p>
          )}
        </div>
        {endpoint.shape === "metrics" && (
          <Part title="Parameters, in addition to each dimension as a filter">
            <DescribedList value={describeParameters(parameters).filter(isOther)} />
          </Part>
        )}
        {endpoint.shape === "list" && Object.keys(filters).length > 0 && (
          <Part title="Filters">
            <DescribedList value={describeParameters(filters)} />
          </Part>
        )}
        {endpoint.shape === "list" && <SharedParameters />}
        {metered && (
          <>
            <p>
              Costs up to {metered.maxCost} credits. <Prose>{conventions.metered}</Prose>
            </p>
            <p>
              <Prose>{conventions.idempotency}</Prose>
            </p>
            <Part title="Body fields">
              <DescribedList value={describeBody(metered.body)} />
            </Part>
          </>
        )}
        <Part title={endpoint.shape === "object" ? "Data fields" : "Row fields"}>
          <DescribedList value={describeFields(data).filter(isOther)} />
        </Part>
        {families.map(({ family, permission }) => (
          <Part key={family.name} title={`Family ${family.name}, permission ${permission}`}>
            <DescribedList value={describeFamily(family)} />
          </Part>
        ))}
        {extra.length > 0 && (
          <Part title="Additional meta fields">
            <DescribedList value={extra} />
          </Part>
        )}
      </div>
      <div className="grid min-w-0 content-start gap-4">
        <RequestPanels endpoint={endpoint} baseUrl={baseUrl} />
        {example !== undefined && <CodePanel title="Response" code={readableJson(example)} />}
      </div>
    </section>
  )
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div>
      <h3 className="border-b border-line pb-1 text-xs font-semibold">{title}</h3>
      {children}
    </div>
  )
}

function SharedParameters() {
  return (
    <details>
      <summary className="cursor-pointer font-medium text-muted hover:text-ink">
        Common list parameters: {Object.keys(sharedParameters).join(", ")}
      </summary>
      <DescribedList value={describeParameters(sharedParameters)} />
    </details>
  )
}
