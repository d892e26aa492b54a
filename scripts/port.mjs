import { connect, createServer } from "node:net"

/** The port from PORT, or 3000. Exits with a message if the number is invalid or the port is in use. */
export async function chosenPort(script) {
  const port = Number(process.env.PORT || 3000)
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    fail(`PORT must be a number from 1 to 65535, got "${process.env.PORT}".`)
  if (await isTaken(port)) {
    fail(`Port ${port} is already in use. Choose another port:\n\n  PORT=${port + 1} npm run ${script}`)
  }
  return port
}

/** A program may accept connections on one address only, or hold the port without accepting connections. */
async function isTaken(port) {
  return (await accepts(port, "127.0.0.1")) || (await accepts(port, "::1")) || !(await canListen(port))
}

function accepts(port, host) {
  return new Promise((done) => {
    const socket = connect({ port, host })
    const finish = (accepted) => {
      socket.destroy()
      done(accepted)
    }
    socket.setTimeout(1_000, () => finish(true))
    socket.once("connect", () => finish(true))
    socket.once("error", () => finish(false))
  })
}

function canListen(port) {
  return new Promise((done) => {
    const server = createServer()
    server.once("error", (error) => {
      if (error.code === "EACCES") fail(`This user may not listen on port ${port}: choose a port above 1023.`)
      done(false)
    })
    server.listen(port, () => server.close(() => done(true)))
  })
}

function fail(message) {
  console.error(message)
  process.exit(1)
}
