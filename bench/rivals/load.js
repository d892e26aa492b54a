import autocannon from "autocannon"

/**
 * Sends requests to `url` continuously over a number of connections; each connection rotates its own share of the keys.
 * @param {{ url: string, keys: readonly string[], connections: number, seconds: number, body?: string, rate?: number }} options
 *   `body`: JSON to post; a GET request if omitted. `rate`: requests per second, as many as possible if omitted
 * @returns {Promise<{ perSecond: number, requests: number, times: number[] }>} `times`: of each response, in ms
 * @throws Error if any request fails or its status is not 2xx
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
      `${url}: ${errors} errors, ${timeouts} timeouts, responses by status ${JSON.stringify(statusCodeStats)}`,
    )
  }
  return { perSecond: requests.total / duration, requests: requests.total, times }
}
