import { randomBytes } from "node:crypto"
import { apiVersion, type Event, type Kind, prefixes, type Stored } from "./objects"

/** An error in Stripe's shape. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly fields: { type: string; message: string; code?: string; decline_code?: string | null; param?: string },
  ) {
    super(fields.message)
  }
}

export function refuse(message: string, more: { code?: string; param?: string } = {}): never {
  throw new ApiError(400, { type: "invalid_request_error", message, ...more })
}

export type State = {
  objects: Stored[Kind][]
  /** Seconds by which its clock is ahead. */
  ahead: number
  numbers: number
}

/** All objects and the clock; plain data, so that the demo can keep it in a file. */
export class World {
  #objects = new Map<string, Stored[Kind]>()
  #kinds = new Map<Kind, Set<string>>()
  #ahead = 0
  #numbers = 0
  /** While the clock advances. */
  #standing: number | undefined
  /** The request that is in progress; events name it. */
  request: Event["request"] = null

  constructor(
    readonly origin: string,
    readonly onEvent: (event: Event) => void = () => {},
  ) {}

  save(): State {
    return { objects: [...this.#objects.values()], ahead: this.#ahead, numbers: this.#numbers }
  }

  load(state: State): void {
    this.#ahead = state.ahead
    this.#numbers = state.numbers
    for (const object of state.objects) this.add(object)
  }

  /** Unix time in seconds. */
  now(): number {
    return this.#standing ?? Math.floor(Date.now() / 1000) + this.#ahead
  }

  /** Moves the clock; `due` does at each moment what is due until then, and returns the next moment. */
  advance(seconds: number, due: (until: number) => number | undefined, act: (at: number) => void): void {
    const until = this.now() + seconds
    for (let at = due(until); at !== undefined; at = due(until)) {
      this.#standing = at
      act(at)
    }
    this.#standing = undefined
    this.#ahead = until - Math.floor(Date.now() / 1000)
  }

  id(kind: Kind): string {
    return prefixes[kind] + randomBytes(12).toString("hex")
  }

  number(): number {
    this.#numbers += 1
    return this.#numbers
  }

  add<Object extends Stored[Kind]>(object: Object): Object {
    this.#objects.set(object.id, object)
    const ids = this.#kinds.get(object.object) ?? new Set()
    this.#kinds.set(object.object, ids.add(object.id))
    return object
  }

  find<K extends Kind>(kind: K, id: string): Stored[K] | undefined {
    return this.#kinds.get(kind)?.has(id) ? (this.#objects.get(id) as Stored[K]) : undefined
  }

  /** @throws ApiError */
  get<K extends Kind>(kind: K, id: string, param = "id"): Stored[K] {
    const found = this.find(kind, id)
    if (found) return found
    const fields = { type: "invalid_request_error", code: "resource_missing", param }
    throw new ApiError(404, { ...fields, message: `No such ${kind}: '${id}'` })
  }

  /** Newest first. */
  all<K extends Kind>(kind: K): Stored[K][] {
    return [...(this.#kinds.get(kind) ?? [])].reverse().map((id) => this.#objects.get(id) as Stored[K])
  }

  /** An object of any kind, for `expand`. */
  any(id: string): Stored[Kind] | undefined {
    return this.#objects.get(id)
  }

  emit(type: string, object: Stored[Kind], before?: Record<string, unknown>): void {
    const event = this.add<Event>({
      id: this.id("event"),
      object: "event",
      api_version: apiVersion,
      created: this.now(),
      data: { object: structuredClone(object), ...(before && { previous_attributes: before }) },
      livemode: false,
      pending_webhooks: 1,
      request: this.request,
      type,
    })
    this.onEvent(event)
  }
}
