import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Child, startChild } from "@/scripts/child"
import { onPath } from "./on-path"

/**
 * Starts HAProxy as a round-robin load balancer that skips instances that are down and retries unanswered reads on the
 * next one. The request header `x-instance: 1` selects an instance; the response header `x-served-by` names the one
 * that responded.
 * @param ports the ports of the instances on this machine
 */
export async function startHaproxy(port: number, ports: readonly number[]): Promise<{ stop: () => Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), "haproxy-"))
  const file = join(directory, "haproxy.cfg")
  await writeFile(file, configuration(port, ports))
  const proxy = startChild(findHaproxy() ?? "haproxy", ["-W", "-f", file], {
    signal: "TERM",
    cwd: directory,
    env: process.env,
  })
  if (!(await hasStarted(proxy))) throw new Error("haproxy did not start: install it, or set HAPROXY_PATH to its path.")
  return {
    async stop() {
      await proxy.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

function configuration(port: number, ports: readonly number[]): string {
  const names = ports.map((_, index) => String(index + 1))
  return `
defaults
  mode http
  timeout connect 2s
  timeout client 70s
  timeout server 60s
  option forwardfor
  option redispatch 1
  retries 3
  retry-on conn-failure empty-response
listen api
  bind 127.0.0.1:${port}
  balance roundrobin
  http-request disable-l7-retry if METH_POST
  http-response set-header x-served-by %s
${names.map((name) => `  use-server ${name} if { req.hdr(x-instance) ${name} }`).join("\n")}
${names.map((name, index) => `  server ${name} 127.0.0.1:${ports[index]} check inter 200ms fall 1 rise 1`).join("\n")}
`
}

/** HAProxy logs "Loading success" once it has read its configuration and listens on its port. */
async function hasStarted({ process: { stdout, stderr }, exited }: Child): Promise<boolean> {
  stdout?.resume()
  return new Promise((done) => {
    stderr?.on("data", (chunk) => {
      if (String(chunk).includes("Loading success")) done(true)
    })
    exited.then(() => done(false))
  })
}

/** The path of HAProxy: `HAPROXY_PATH`, or the one on the PATH. */
export function findHaproxy(): string | undefined {
  return process.env.HAPROXY_PATH || onPath("haproxy")
}
