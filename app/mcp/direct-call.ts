import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/server"
import { serverInfo } from "./server-info"
import type { Arguments } from "./tool"

// The usual call of a tool, whose parsing and serializing in the SDK would cost more than the call itself. The SDK gets
// every other message: each with an unknown field, a wrong header or an error of the protocol.

export type DirectCall = { id: string | number; name: string; given: Arguments; isModern: boolean }

export const modernVersion = "2026-07-28"
export const meta = (name: string) => `io.modelcontextprotocol/${name}`

export function directCallOf(headers: Headers, message: unknown): DirectCall | undefined {
  if (!hasOnly(message, ["jsonrpc", "id", "method", "params"])) return undefined
  const { jsonrpc, id, method, params } = message
  if (jsonrpc !== "2.0" || method !== "tools/call" || !(typeof id === "string" || Number.isSafeInteger(id)))
    return undefined
  if (!hasOnly(params, ["name", "arguments", "_meta"])) return undefined
  const { name, arguments: given = {}, _meta: envelope } = params
  if (typeof name !== "string" || !isObject(given)) return undefined
  const version = headers.get("mcp-protocol-version")
  const isModern = envelope !== undefined
  const isUsual = isModern
    ? version === modernVersion && isEnvelope(envelope) && hasHeaders(headers, { method, name })
    : (version === null || SUPPORTED_PROTOCOL_VERSIONS.includes(version)) && !headers.has("mcp-method")
  return isUsual ? { id: id as string | number, name, given, isModern } : undefined
}

/** @param json of the tool, or of its refusal */
export function directResponse({ id, isModern }: DirectCall, json: string, isError: boolean): string {
  const text = JSON.stringify([{ type: "text", text: json }])
  const more = `${isError ? ',"isError":true' : ""}${isModern ? modernFields : ""}`
  return `{"result":{"content":${text},"structuredContent":${json}${more}},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`
}

const modernFields = `,"resultType":"complete","_meta":${JSON.stringify({ [meta("serverInfo")]: serverInfo })}`

function isEnvelope(envelope: unknown): boolean {
  const names = ["protocolVersion", "clientInfo", "clientCapabilities"].map(meta)
  if (!hasOnly(envelope, names)) return false
  const [version, info, capabilities] = names.map((name) => envelope[name])
  const isNamed = isObject(info) && typeof info.name === "string" && typeof info.version === "string"
  return version === modernVersion && isNamed && isObject(capabilities) && Object.keys(capabilities).length === 0
}

function hasHeaders(headers: Headers, { method, name }: { method: string; name: string }): boolean {
  return headers.get("mcp-method") === method && headers.get("mcp-name") === name
}

function hasOnly(value: unknown, names: readonly string[]): value is Record<string, unknown> {
  return isObject(value) && Object.keys(value).every((name) => names.includes(name))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
