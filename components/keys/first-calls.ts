import { agentPrompt } from "@/components/code/agent-prompt"
import { type Documented, exampleBody } from "@/lib/api/documents/document"
import { languageTitles, requestIn } from "@/lib/api/documents/example-requests"
import { env } from "@/lib/env"
import { bodyPlaceholder, keyPlaceholder } from "@/lib/keys/choices"
import { holds } from "@/lib/permissions"
import { kinds, type Surface } from "@/lib/surfaces"
import type { Call, FirstCalls, Snippet } from "./try-key"

type Client = Pick<Call, "path"> & {
  setups: readonly Pick<Snippet, "title" | "text" | "note">[]
  test: NonNullable<Call["message"]>
}

export function firstCallsOf(
  surface: Surface,
  role: string,
  runs: readonly Documented[],
  clients: readonly Client[],
): FirstCalls {
  const path = kinds[surface].test
  const test = { path, snippets: [...(surface === "admin" ? [prompt()] : []), ...requestsTo(path)] }
  const [first = test, ...others] = [...runs.flatMap(runOf), test, ...clients.map(messageTo)]
  return {
    calls: [first, ...others],
    requestsPage:
      env().REQUEST_LOG_DAYS === 0 ? null : holds(role, "audit.read") ? "/admin/requests" : "/account/requests",
  }
}

function runOf(endpoint: Documented): Call[] {
  const { path, summary, metered } = endpoint
  const body = exampleBody(endpoint)
  if (!metered || !body) return []
  const { maxCost, counts = {} } = metered
  return [{ path, snippets: requestsTo(path, bodyPlaceholder), metered: { summary, maxCost, body, counts } }]
}

function messageTo({ path, setups, test }: Client): Call {
  const snippets = setups.map((setup) => ({ ...setup, label: `Setup of ${setup.title}`, copy: "Copy setup" }))
  return { path, snippets, message: test }
}

function prompt(): Snippet {
  return {
    title: "Agent prompt",
    label: "Prompt for an agent",
    copy: "Copy prompt",
    text: agentPrompt(keyPlaceholder),
    note: "For an AI agent: the prompt has the key, and says where the API and its documents are.",
  }
}

function requestsTo(path: string, body?: typeof bodyPlaceholder): Snippet[] {
  const url = env().BASE_URL + path
  return languageTitles.map(([language, title]) => ({
    title,
    label: `Request in ${title}`,
    copy: "Copy request",
    text: requestIn(language, { url, body, isMetered: body !== undefined, key: keyPlaceholder }),
  }))
}
