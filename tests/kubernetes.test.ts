import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { loadAll } from "js-yaml"
import type { Deployment } from "kubernetes-types/apps/v1"
import type { Job } from "kubernetes-types/batch/v1"
import type { ConfigMap, Service } from "kubernetes-types/core/v1"
import type { Ingress, NetworkPolicy } from "kubernetes-types/networking/v1"
import type { PodDisruptionBudget } from "kubernetes-types/policy/v1"
import { expect, test } from "vitest"
import { envNames, parseEnv } from "@/lib/env"
import { root } from "@/scripts/root"

// The manifests in ops/kubernetes, without a cluster.

const run = promisify(execFile)

/** The modules of kubernetes-types with the fields of each kind. */
const kinds = {
  ConfigMap: "core/v1",
  Deployment: "apps/v1",
  Ingress: "networking/v1",
  Job: "batch/v1",
  NetworkPolicy: "networking/v1",
  PodDisruptionBudget: "policy/v1",
  Service: "core/v1",
}

type Kinds = {
  ConfigMap: ConfigMap
  Deployment: Deployment
  Ingress: Ingress
  Job: Job
  NetworkPolicy: NetworkPolicy
  PodDisruptionBudget: PodDisruptionBudget
  Service: Service
}

const folder = join(root, "ops/kubernetes")
const texts = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file), "utf8")))
const manifests = texts.flatMap((text) => loadAll(text) as { kind: keyof Kinds }[])

function only<Kind extends keyof Kinds>(kind: Kind): Kinds[Kind] {
  const found = manifests.filter((manifest) => manifest.kind === kind)
  expect([kind, found.length]).toEqual([kind, 1])
  return found[0] as unknown as Kinds[Kind]
}

/** The compiler's errors for the manifests as objects of Kubernetes' types, in which unknown fields are errors. */
async function problemsOf(objects: readonly { kind: string }[]): Promise<string> {
  await mkdir(join(root, ".data"), { recursive: true })
  const directory = await mkdtemp(join(root, ".data/kubernetes-"))
  try {
    const lines = objects.map((object, index) => {
      const module = kinds[object.kind as keyof Kinds]
      return `export const _${index}: import("kubernetes-types/${module}").${object.kind} = ${JSON.stringify(object)}`
    })
    await writeFile(join(directory, "manifests.ts"), lines.join("\n"))
    const compilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: [],
      module: "esnext",
      moduleResolution: "bundler",
    }
    await writeFile(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }))
    await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "--pretty", "false", "-p", directory])
    return ""
  } catch (error) {
    return (error as { stdout?: string }).stdout || String(error)
  } finally {
    await rm(directory, { recursive: true })
  }
}

test("Kubernetes knows every field of every manifest", async () => {
  expect(await problemsOf(manifests)).toBe("")
})

test.each([
  [
    "a misspelt field",
    (web: Deployment) => ({ ...web, spec: { ...web.spec, replica: 2 } }),
    `'"replica"' does not exist`,
  ],
  ["a number for a text", (web: Deployment) => ({ ...web, metadata: { name: 2 } }), "'number' is not assignable"],
  ["a missing field", (web: Deployment) => ({ ...web, spec: { replicas: 2 } }), "missing the following properties"],
])("%s is found", async (_, change, problem) => {
  expect(await problemsOf([change(only("Deployment")) as unknown as { kind: string }])).toContain(problem)
})

/** The variables that the guide puts into a Secret. */
async function secret(name: string): Promise<Record<string, string>> {
  const guide = await readFile(join(root, "docs/deploy.md"), "utf8")
  expect(guide).toContain(`kubectl create secret generic ${name} --from-env-file=${name}.env`)
  const [, lines = ""] = new RegExp(`^ *cat > ${name}\\.env <<END\\n(.*?)^ *END$`, "ms").exec(guide) ?? []
  return Object.fromEntries(
    [...lines.matchAll(/^ *(\w+)=(.*)$/gm)].map(([, key = "", value = ""]) => [
      key,
      value.replace(/\$\(.*\)/, "a".repeat(44)),
    ]),
  )
}

const web = only("Deployment")
const job = only("Job")
const pods = [web.spec?.template, job.spec?.template]
const containers = pods.map((pod) => pod?.spec?.containers ?? [])
const [server] = web.spec?.template.spec?.containers ?? []

test("the servers start with the ConfigMap and the Secret of the guide, and no variable of them is unknown", async () => {
  expect(server?.envFrom).toEqual([{ configMapRef: { name: "web" } }, { secretRef: { name: "web" } }])
  expect(server?.env).toBeUndefined()
  const variables = { ...only("ConfigMap").data, ...(await secret("web")) }
  expect(Object.keys(variables).filter((name) => !envNames.includes(name))).toEqual([])
  // Replicas share the limits of a key, and each trusts only the Ingress.
  expect(parseEnv({ ...variables, NODE_ENV: "production" })).toMatchObject({
    REDIS_URL: [expect.any(String)],
    TRUSTED_PROXY_HOPS: 1,
    PORT: server?.ports?.[0]?.containerPort,
    SWEEPER: "on",
  })
})

test("only the migration has the URL of the owner of the tables", async () => {
  expect(Object.keys(await secret("migrate"))).toEqual(["MIGRATE_DATABASE_URL"])
  expect(Object.keys(await secret("web"))).not.toContain("MIGRATE_DATABASE_URL")
  const [migration] = job.spec?.template.spec?.containers ?? []
  expect(migration?.envFrom).toBeUndefined()
  expect(migration?.env?.map(({ name, valueFrom }) => [name, valueFrom?.secretKeyRef?.name])).toEqual([
    ["DATABASE_URL", "web"],
    ["MIGRATE_DATABASE_URL", "migrate"],
  ])
})

test("servers and migration use one image, and a failed migration is not repeated", () => {
  expect(containers.map((list) => list.map(({ args }) => args))).toEqual([[["serve"]], [["migrate"]]])
  const [image] = new Set(containers.flat().map(({ image }) => image))
  expect(containers.flat().map((container) => container.image)).toEqual([image, image])
  expect([job.spec?.backoffLimit, job.spec?.template.spec?.restartPolicy]).toEqual([0, "Never"])
})

test("each container runs as an unprivileged user, on a file system that is read-only except for /tmp", () => {
  for (const pod of pods) {
    expect(pod?.spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1001,
        runAsGroup: 1001,
        seccompProfile: { type: "RuntimeDefault" },
      },
      volumes: [{ name: "tmp", emptyDir: {} }],
    })
    for (const container of pod?.spec?.containers ?? []) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      })
      expect(container.volumeMounts).toEqual([{ name: "tmp", mountPath: "/tmp" }])
      expect(container.resources?.limits?.memory).toBeDefined()
    }
  }
})

test("probes request paths that the servers have", () => {
  const probes = [server?.startupProbe, server?.livenessProbe, server?.readinessProbe]
  // A server without its database keeps running: a restart would not help.
  expect(probes.map((probe) => probe?.httpGet)).toEqual([
    { path: "/healthz", port: "http" },
    { path: "/healthz", port: "http" },
    { path: "/readyz", port: "http" },
  ])
  expect(server?.ports?.map(({ name }) => name)).toEqual(["http"])
  for (const probe of probes) expect(existsSync(join(root, `app${probe?.httpGet?.path}/route.ts`))).toBe(true)
})

test("a stopping server first gets no new requests, and then enough time to shut down", async () => {
  const operation = await readFile(join(root, "docs/operation.md"), "utf8")
  const [, graceSeconds] = /still in progress after (\d+) seconds/.exec(operation) ?? []
  const before = server?.lifecycle?.preStop?.sleep?.seconds ?? 0
  expect(before).toBeGreaterThan(0)
  expect(web.spec?.template.spec?.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(
    before + Number(graceSeconds) + 5,
  )
})

test("an upgrade and a drained node leave all servers running, or one fewer", () => {
  expect(web.spec).toMatchObject({
    replicas: 2,
    strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
  })
  expect(only("PodDisruptionBudget").spec).toMatchObject({ maxUnavailable: 1 })
  const [spread] = web.spec?.template.spec?.topologySpreadConstraints ?? []
  expect(spread).toMatchObject({
    topologyKey: "kubernetes.io/hostname",
    maxSkew: 1,
    whenUnsatisfiable: "ScheduleAnyway",
  })
})

test("where a proxy is trusted, only the Ingress controller and Prometheus reach the servers, from their start on", async () => {
  expect(Number(only("ConfigMap").data?.TRUSTED_PROXY_HOPS)).toBeGreaterThan(0)
  const { policyTypes, podSelector, ingress } = only("NetworkPolicy").spec ?? {}
  expect([policyTypes, podSelector]).toEqual([["Ingress"], web.spec?.selector])
  expect(ingress?.map(({ from }) => from?.map((peer) => Object.keys(peer)))).toEqual([
    [["namespaceSelector"], ["namespaceSelector"]],
  ])
  // An empty selector admits every namespace.
  for (const { namespaceSelector } of ingress?.[0]?.from ?? []) {
    expect(Object.keys(namespaceSelector?.matchLabels ?? {})).toEqual(["kubernetes.io/metadata.name"])
  }
  const ofServers = loadAll(await readFile(join(folder, "web.yaml"), "utf8")) as { kind: string }[]
  const order = ofServers.map(({ kind }) => kind)
  expect(order).toContain("NetworkPolicy")
  expect(order.indexOf("NetworkPolicy")).toBeLessThan(order.indexOf("Deployment"))
  expect(await readFile(join(root, "docs/deploy.md"), "utf8")).not.toMatch(/polic[^.]*optional/i)
})

test("the Ingress and the other objects select the servers", () => {
  const labels = web.spec?.template.metadata?.labels
  const service = only("Service")
  expect([
    service.spec?.selector,
    web.spec?.selector.matchLabels,
    only("PodDisruptionBudget").spec?.selector?.matchLabels,
    only("NetworkPolicy").spec?.podSelector.matchLabels,
    web.spec?.template.spec?.topologySpreadConstraints?.[0]?.labelSelector?.matchLabels,
  ]).toEqual(Array(5).fill(labels))
  const { rules, tls } = only("Ingress").spec ?? {}
  const { BASE_URL } = only("ConfigMap").data ?? {}
  expect(rules).toEqual([
    {
      host: new URL(BASE_URL ?? "").host,
      http: {
        paths: [
          {
            path: "/",
            pathType: "Prefix",
            backend: { service: { name: service.metadata?.name, port: { name: service.spec?.ports?.[0]?.name } } },
          },
        ],
      },
    },
  ])
  expect(tls?.flatMap(({ hosts }) => hosts)).toEqual(rules?.map(({ host }) => host))
  expect(service.spec?.ports?.[0]?.targetPort).toBe(server?.ports?.[0]?.name)
  expect(only("NetworkPolicy").spec?.ingress?.[0]?.ports).toEqual([{ port: server?.ports?.[0]?.name }])
})
