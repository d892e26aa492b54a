/** A small seeded generator (mulberry32): the same seed draws the same data. Never for secrets. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 up to but not 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<const T extends readonly [unknown, ...unknown[]]>(items: T): T[number] {
    return items[this.between(0, items.length - 1)] ?? items[0]
  }

  /** A UUIDv7 (RFC 9562) of the given moment, so that ids sort as times do. */
  uuid(ms: number): string {
    const time = Math.floor(ms).toString(16).padStart(12, "0")
    const rest = Array.from({ length: 4 }, () =>
      Math.floor(this.next() * 2 ** 16)
        .toString(16)
        .padStart(4, "0"),
    )
    const [a = "", b = "", c = "", d = ""] = rest
    const variant = (8 + (Number.parseInt(b.charAt(0), 16) % 4)).toString(16)
    return `${time.slice(0, 8)}-${time.slice(8)}-7${a.slice(1)}-${variant}${b.slice(1)}-${c}${d}${a.slice(0, 1)}${c.slice(1)}`
  }

  /** `length` bytes as PostgreSQL writes bytea. */
  bytea(length: number): string {
    return `\\x${Array.from({ length }, () => this.between(0, 255).toString(16).padStart(2, "0")).join("")}`
  }
}
