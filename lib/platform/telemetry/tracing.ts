import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api"
import type { SpanProcessor } from "@opentelemetry/sdk-trace-node"
import { env } from "@/lib/env"
import { product } from "@/lib/product"
import { singleton } from "@/lib/singleton"
import { log } from "./log"

type Tracing = { flush: () => Promise<void> }

/** The exporter reads the other OTEL_ variables (OpenTelemetry, environment variable specification). */
export async function startTracing(): Promise<Tracing | undefined> {
  if (!env().OTEL_EXPORTER_OTLP_ENDPOINT) return undefined
  return singleton("tracing", start)
}

async function start(): Promise<Tracing> {
  // Loaded only if tracing is enabled.
  const [{ BatchSpanProcessor, NodeTracerProvider }, { OTLPTraceExporter }, resources] = await Promise.all([
    import("@opentelemetry/sdk-trace-node"),
    import("@opentelemetry/exporter-trace-otlp-proto"),
    import("@opentelemetry/resources"),
  ])
  const provider = new NodeTracerProvider({
    resource: resources
      .resourceFromAttributes({ "service.name": product.slug })
      .merge(resources.detectResources({ detectors: [resources.envDetector] })),
    spanProcessors: [withoutInput, new BatchSpanProcessor(new OTLPTraceExporter())],
  })
  provider.register()
  return { flush: () => flush(provider) }
}

const flushMs = 2_000

async function flush(provider: { shutdown: () => Promise<void> }): Promise<void> {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error("The collector did not accept the traces in time.")), flushMs).unref()
  })
  await Promise.race([provider.shutdown(), late]).catch((error) => {
    log().warn({ why: String(error) }, "traces_not_sent")
  })
}

/** The URL may contain tokens or keys sent by mistake, and thrown errors may quote a body. */
const withoutInput: SpanProcessor = {
  onStart() {},
  onEnd({ attributes, events, status }) {
    delete attributes["http.target"]
    events.length = 0
    delete status.message
  },
  async forceFlush() {},
  async shutdown() {},
}

/** OpenTelemetry, semantic conventions for HTTP. Joins the caller's trace. */
export function traced(request: Request, route: string, handle: () => Promise<Response>): Promise<Response> {
  if (!env().OTEL_EXPORTER_OTLP_ENDPOINT) return handle()
  const caller = propagation.extract(context.active(), Object.fromEntries(request.headers))
  const { method } = request
  const attributes = { "http.request.method": method, "http.route": route }
  const options = { kind: SpanKind.SERVER, attributes }
  return trace.getTracer(product.slug).startActiveSpan(`${method} ${route}`, options, caller, async (span) => {
    const response = await handle()
    span.setAttributes({
      "http.response.status_code": response.status,
      "http.response.header.x-request-id": [response.headers.get("x-request-id") ?? ""],
    })
    if (response.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end()
    return response
  })
}
