import { get } from "node:http"

// The health check of the image.
const { PORT, HOST } = process.env
const request = get({ host: HOST || "127.0.0.1", port: PORT || 3000, path: "/healthz", timeout: 5_000 }, (response) => {
  console.log(`/healthz returned ${response.statusCode}.`)
  process.exit(response.statusCode === 200 ? 0 : 1)
})
request.on("timeout", () => request.destroy(new Error("no response within five seconds")))
request.on("error", (error) => {
  console.error(`/healthz: ${error.message}`)
  process.exit(1)
})
