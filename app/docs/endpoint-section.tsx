import { partsOf } from "@/app/_shell/documents/endpoint-parts"
import { CodePanel } from "@/components/code/code-panel"
import { ChosenCode } from "@/components/code/language-choice"
import { readableJson } from "@/components/code/readable-json"
import { Breakable } from "@/components/values/breakable"
import { conventions, type Documented, errorCodes, operationId } from "@/lib/api/documents/document"
import { exampleRequest } from "@/lib/api/documents/example-requests"
import { sharedParameters } from "@/lib/api/parameters"
import { DescribedList } from "./described-list"
import { Method } from "./method"
import { Code, Prose } from "./prose"
import { sectionStyle } from "./section"

export function EndpointSection({ endpoint, baseUrl }: { endpoint: Documented; baseUrl: string }) {
  const { method, path, shape, summary, permission, scope, errors, metered, example } = endpoint
  const id = operationId(endpoint)
  return (
    <section id={id} aria-labelledby={`${id}-title`} className={`${sectionStyle} xl:grid-cols-2`}>
      <div className="grid min-w-0 content-start gap-4">
        <div className="grid gap-1">
          <h2 id={`${id}-title`} className="text-lg font-semibold">
            <a href={`#${id}`} className="wrap-anywhere hover:underline">
              <Method>{method}</Method> <Breakable after="/">{path}</Breakable>
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
        {metered && (
          <p>
            Costs up to {metered.maxCost} credits. <Prose>{conventions.metered}</Prose> To retry a call safely, send an{" "}
            <a href="/docs#idempotency" className="whitespace-nowrap text-accent underline">
              Idempotency-Key
            </a>
            .
          </p>
        )}
        {shape === "list" && (
          <p>
            Accepts the{" "}
            <a href="/docs#pagination" className="text-accent underline">
              parameters of all lists
            </a>
            : <Code>{Object.keys(sharedParameters).join(", ")}</Code>.
          </p>
        )}
        {partsOf(endpoint).map(({ id: place, title, items }) => (
          <div key={place}>
            <h3 className="border-b border-line pb-1 font-semibold">{title}</h3>
            <DescribedList value={items} place={place} />
          </div>
        ))}
        {errors && (
          <div>
            <h3 className="border-b border-line pb-1 font-semibold">Errors</h3>
            <p className="py-1.5">
              {errorCodes(endpoint).map((code) => (
                <a key={code} href={`/docs#${code}`} className="mr-3 inline-block hover:underline">
                  <Code>{code}</Code>
                </a>
              ))}
            </p>
          </div>
        )}
      </div>
      <div className="grid min-w-0 content-start gap-4">
        <ChosenCode
          title="Request"
          surface={endpoint.surface}
          codeIn={(language) => exampleRequest(endpoint, language, baseUrl)}
        />
        {example !== undefined && (
          <CodePanel title="Response" code={readableJson(example)} language="json" surface={endpoint.surface} />
        )}
      </div>
    </section>
  )
}
