import type { Client } from "@/app/api/v1/clients"
import { endpoints } from "@/app/api/v1/endpoints"
import { env } from "@/lib/env"
import { keyPlaceholder } from "@/lib/keys/choices"
import { product } from "@/lib/product"
import type { Surface } from "@/lib/surfaces"

const readers: Record<Surface, string> = {
  admin:
    "`describe_data` has the fields and definitions, `query_metrics` counts and adds up, and `read_rows` reads single rows.",
  user: "`get_account` and `read_rows` read the account.",
}

/** Endpoints that are tools can be removed with their module. */
async function describeTools(surface: Surface): Promise<string> {
  const writers = (await endpoints()).flatMap((endpoint) =>
    endpoint.surface === surface && endpoint.tool ? [`\`${endpoint.tool.name}\`: ${endpoint.summary}.`] : [],
  )
  return [readers[surface], ...writers].join(" ")
}

export async function clientOf(surface: Surface): Promise<Client> {
  const path = `/mcp/${surface === "admin" ? "admin" : "me"}`
  const url = env().BASE_URL + path
  return {
    path,
    section: {
      id: "mcp",
      title: "Model Context Protocol (MCP)",
      text: [
        `Agents can call \`${url}\` with a key of this API, in the header \`Authorization\` or \`x-api-key\`. ${await describeTools(surface)} Permissions, limits and the request log are the same. Each message counts as a request.`,
        "A refused call is a result with `isError`, and the envelope of the API as its text; a missing key and too many requests are a 401 and a 429. The request log has the status that the API would have sent. One message per request; there are no sessions and no OAuth. Clients that can send no header, such as ChatGPT, cannot use it.",
      ],
      words: "mcp model context protocol agent claude cursor codex vs code connector tools skill",
    },
    skill: `Agents can also use the Model Context Protocol at \`${url}\`, with the same header.`,
    setups: setupsFor(surface, url),
    test: { jsonrpc: "2.0", id: 1, method: "tools/list" },
  }
}

function setupsFor(surface: Surface, url: string): Client["setups"] {
  const name = `${product.slug}-${surface}`
  const bearer = `Bearer ${keyPlaceholder}`
  const inJson = (config: object) => JSON.stringify(config, null, 2)
  const headers = { Authorization: bearer }
  return [
    {
      title: "Claude",
      text: `${url}\nAuthorization: ${bearer}`,
      note: "In Claude: Settings, Connectors, Add custom connector, with this URL and this request header. The calls come from Anthropic’s addresses.",
    },
    {
      title: "Claude Code",
      text: `claude mcp add --transport http ${name} ${url} \\\n  --header "Authorization: ${bearer}"`,
      note: "Run it in a terminal.",
    },
    {
      title: "Cursor",
      text: inJson({ mcpServers: { [name]: { url, headers } } }),
      note: "For the file ~/.cursor/mcp.json.",
    },
    {
      title: "VS Code",
      text: inJson({ servers: { [name]: { type: "http", url, headers } } }),
      note: "For the file that the command “MCP: Open User Configuration” opens.",
    },
    {
      title: "Codex",
      text: `[mcp_servers.${name}]\nurl = "${url}"\nhttp_headers = { Authorization = "${bearer}" }`,
      note: "For the file ~/.codex/config.toml.",
    },
  ]
}
