import { connect, createServer } from "node:net"

/** The port from PORT, or 3000. Ends the process with advice when the number is none or the port is taken. */
export async function chosenPort(script) {
  const port = Number(process.env.PORT || 3000)
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    fail(`PORT must be a number from 1 to 65535, got "${process.env.PORT}".`)
  if (await isTaken(port)) {
    fail(`Port ${port} is taken by another program. Choose another one:\n\n  PORT=${port + 1} npm run ${script}`)
  }
  return port
}

/** Somebody may answer on one address only, and somebody may hold the port without answering. */
async function isTaken(port) {
  return (await answers(port, "127.0.0.1")) || (await answers(port, "::1")) || !(await canListen(port))
}

function answers(port, host) {
  return new Promise((done) => {
    const socket = connect({ port, host })
    const finish = (answer) => {
      socket.destroy()
      done(answer)
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
      if (error.code === "EACCES") fail(`Port ${port} is not open to this user: choose one above 1023.`)
      done(false)
    })
    server.listen(port, () => server.close(() => done(true)))
  })
}

function fail(message) {
  console.error(message)
  process.exit(1)
}
