import autocannon from "autocannon"

/**
 * Asks for `url` over as many connections as told, all the time, each with its own part of the keys in turn.
 * @param {{ url: string, keys: readonly string[], connections: number, seconds: number, body?: string, rate?: number }} options
 *   `body`: JSON to post; without one it is read. `rate`: requests a second, as many as possible when left out
 * @returns {Promise<{ perSecond: number, requests: number, times: number[] }>} `times`: of each answer, in ms
 * @throws Error when any answer is no success
 */
export async function load({ url, keys, connections, seconds, body, rate }) {
  const times = []
  let made = 0
  const running = autocannon({
    url,
    connections,
    duration: seconds,
    ...(rate && { overallRate: rate }),
    setupClient(client) {
      const connection = made++
      const own = keys.filter((_, index) => index % connections === connection)
      const sent = body && { method: "POST", body }
      client.setRequests(
        own.map((key) => ({
          ...sent,
          headers: { "x-api-key": key, ...(body && { "content-type": "application/json" }) },
        })),
      )
    },
  })
  running.on("response", (_client, _status, _bytes, ms) => times.push(ms))
  const { requests, duration, errors, timeouts, non2xx, statusCodeStats } = await running
  if (errors + timeouts + non2xx > 0) {
    throw new Error(
      `${url}: ${errors} errors, ${timeouts} timeouts, answers by status ${JSON.stringify(statusCodeStats)}`,
    )
  }
  return { perSecond: requests.total / duration, requests: requests.total, times }
}
