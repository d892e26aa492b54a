import { findRedis } from "../redis"

export default async function setup(): Promise<void> {
  // It imports Playwright, which takes a second.
  if (!findRedis()) await (await import("@/tests/support/provide")).provide("redis")
}
