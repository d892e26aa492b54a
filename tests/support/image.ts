import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { rootCertificates } from "node:tls"
import { inject } from "vitest"
import { collect, type Given, serverEnvironment } from "@/scripts/build-and-serve"
import { type Child, startChild } from "@/scripts/child"
import { root } from "@/scripts/root"
import { provideNode } from "./node-versions"
import { onPath } from "./on-path"

declare module "vitest" {
  interface ProvidedContext {
    image: Image
  }
}

/** An image that is unpacked in `directory`, with its configuration. */
type Image = {
  directory: string
  config: {
    User: string
    Env: string[]
    Entrypoint: string[]
    Cmd: string[]
    WorkingDir: string
    Labels: Record<string, string>
    StopSignal: string
    Healthcheck: { Test: string[] }
  }
  history: string[]
}

/**
 * Builds the Dockerfile with buildah, which needs no daemon. Its base is made from the packages of Debian and the Node of
 * npm, in the versions that the Dockerfile names, because not every machine reaches a registry of images.
 */
export async function buildImage(): Promise<{ image: Image; remove: () => Promise<void> }> {
  if (process.getuid?.() !== 0) throw new Error("The image is built and run by root: run this as root on Debian.")
  const dockerfile = await readFile(join(root, "Dockerfile"), "utf8")
  const [, node = "", suite = ""] = /^ARG NODE_IMAGE=node:([\d.]+)-(\w+)-slim$/m.exec(dockerfile) ?? []
  const directory = await mkdtemp(join(tmpdir(), "image-"))
  const storage = ["--root", join(directory, "root"), "--runroot", join(directory, "run"), "--storage-driver", "vfs"]
  const buildah = (...args: string[]) => succeed("buildah", [...storage, ...args])
  // Without this format the health check would be lost.
  const build = (...args: string[]) =>
    buildah("bud", "--isolation", "chroot", "--format", "docker", "--pull=false", ...args)

  const context = join(directory, "base")
  await mkdir(context)
  console.log("Making a base image from the packages of Debian")
  const mirror = "http://deb.debian.org/debian"
  await succeed("mmdebstrap", ["--variant=minbase", suite, join(context, "debian.tar"), mirror])
  await addNode(join(context, "node"), await provideNode(node))
  await writeFile(
    join(context, "Dockerfile"),
    "FROM scratch\nADD debian.tar /\nCOPY node /usr/local/\nENV PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n",
  )
  await build("--tag", "base", context)

  console.log("Building the Dockerfile, which takes some minutes")
  await build("--build-arg", "NODE_IMAGE=localhost/base", "--tag", "product", root)
  const { Docker: docker } = JSON.parse(await buildah("inspect", "--type", "image", "product"))
  const container = (await buildah("from", "--pull=false", "product")).trim()
  return {
    image: {
      directory: (await buildah("mount", container)).trim(),
      config: docker.config,
      history: docker.history.map(({ created_by }: { created_by: string }) => created_by),
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}

/**
 * Node with npm, as in the official image. The registry's address and the certificates of this machine are in npm's own
 * folder, which the image removes with npm.
 */
async function addNode(local: string, node: string): Promise<void> {
  const npm = dirname(dirname((await succeed("readlink", ["--canonicalize", onPath("npm") ?? "npm"])).trim()))
  const packages = join(local, "lib/node_modules")
  await mkdir(join(local, "bin"), { recursive: true })
  await cp(node, join(local, "bin/node"))
  await cp(npm, join(packages, "npm"), { recursive: true })
  for (const name of ["npm", "npx"])
    await symlink(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, "bin", name))
  const own = process.env.NODE_EXTRA_CA_CERTS ? await readFile(process.env.NODE_EXTRA_CA_CERTS, "utf8") : ""
  await writeFile(join(packages, "npm/ca.pem"), [...rootCertificates, own].join("\n"))
  const registry = (await succeed("npm", ["config", "get", "registry"])).trim()
  await writeFile(join(packages, "npm/npmrc"), `registry=${registry}\ncafile=/usr/local/lib/node_modules/npm/ca.pem\n`)
}

/** Runs a program and returns its output. */
async function succeed(program: string, args: readonly string[]): Promise<string> {
  const child = startChild(program, args, { signal: "TERM", cwd: root, env: process.env })
  const output: string[] = []
  child.process.stdout?.on("data", (chunk) => output.push(String(chunk)))
  const all = collect(child)
  if ((await child.exited) !== 0) throw new Error(`${program} ${args.join(" ")}\n\n${all()}`)
  return output.join("")
}

/**
 * Runs a command of the image as a container would: its own user without capabilities, a root that is read-only, an empty
 * /tmp, process 1 of its own process ids. Only the network is that of this machine.
 */
export function runImage(args: readonly string[], given: Given): Child {
  const { directory, config } = inject("image")
  return runIn(directory, config, [...config.Entrypoint, ...args], given)
}

/** Runs the health check of the image. */
export function checkHealth(given: Given): Child {
  const { directory, config } = inject("image")
  const [kind, ...command] = config.Healthcheck.Test
  if (kind !== "CMD") throw new Error(`The health check is not a CMD but ${kind}.`)
  return runIn(directory, config, command, given)
}

function runIn(directory: string, config: Image["config"], command: readonly string[], given: Given): Child {
  const [uid = "", gid = ""] = config.User.split(":")
  const env = [...config.Env.map((line) => line.split(/=(.*)/s)), ...Object.entries(given)]
  return startChild(
    "sh",
    [
      // The program must not inherit the descriptor that bwrap reports its process id to.
      ...["-c", 'exec bwrap --json-status-fd 3 "$@" 3>&1', "bwrap"],
      ...["--ro-bind", directory, "/", "--dev", "/dev", "--proc", "/proc", "--perms", "1777", "--tmpfs", "/tmp"],
      ...["--unshare-pid", "--as-pid-1", "--die-with-parent", "--chdir", config.WorkingDir],
      ...["--clearenv", ...env.flatMap(([name = "", value = ""]) => ["--setenv", name, value])],
      // Capabilities that setpriv, a program of the image, needs before it drops them.
      ...["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"].flatMap((name) => ["--cap-add", name]),
      ...["--", "setpriv", "--reuid", uid, "--regid", gid, "--clear-groups", "--no-new-privs"],
      ...["--inh-caps=-all", "--bounding-set=-all", ...command],
    ],
    { signal: "TERM", cwd: "/", env: process.env },
  )
}

/** Serves the image with the given variables and the shell's, as `serve` does with the build. */
export function serveImage(port: number, given: Given): Child {
  return runImage(inject("image").config.Cmd, serverEnvironment(port, given))
}

/** The process id on this machine of process 1 in the sandbox of bwrap. */
export function firstPid(output: string): number {
  return Number(/"child-pid": (\d+)/.exec(output)?.[1])
}
