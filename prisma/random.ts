/** A seeded pseudorandom generator (mulberry32): the same seed returns the same values. Not for secrets. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** A number from 0, inclusive, to 1, exclusive. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** An integer from `min` to `max`, both inclusive. */
  between(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<const T extends readonly [unknown, ...unknown[]]>(items: T): T[number] {
    return items[this.between(0, items.length - 1)] ?? items[0]
  }

  /** A UUIDv7 (RFC 9562) for the given time, so that ids sort by time. */
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

  /** `length` bytes in PostgreSQL's text format of bytea. */
  bytea(length: number): string {
    return `\\x${Array.from({ length }, () => this.between(0, 255).toString(16).padStart(2, "0")).join("")}`
  }
}
