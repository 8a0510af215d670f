// When the chart makes a passphrase, and when not: by the real helm, which looks at what an API server answers.
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Schema } from "effect"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import { parseAllDocuments } from "yaml"
import { find, helm, isRendered, pick } from "../helm.ts"

const digest = `sha256:${"0123456789abcdef".repeat(4)}`
/** Every kind of the chart, by its group and version: helm asks what the server has before it shows anything. */
const kinds: Readonly<
  Record<string, ReadonlyArray<readonly [plural: string, kind: string, namespaced: boolean]>>
> = {
  v1: [
    ["namespaces", "Namespace", false],
    ["secrets", "Secret", true],
    ["persistentvolumeclaims", "PersistentVolumeClaim", true],
    ["services", "Service", true],
    ["serviceaccounts", "ServiceAccount", true],
  ],
  "apps/v1": [["deployments", "Deployment", true]],
  "apiextensions.k8s.io/v1": [["customresourcedefinitions", "CustomResourceDefinition", false]],
  "networking.k8s.io/v1": [["networkpolicies", "NetworkPolicy", true]],
  "rbac.authorization.k8s.io/v1": [
    ["clusterroles", "ClusterRole", false],
    ["clusterrolebindings", "ClusterRoleBinding", false],
    ["roles", "Role", true],
    ["rolebindings", "RoleBinding", true],
  ],
}
const groups = Object.keys(kinds).filter((each) => each.includes("/"))
const discovery: Readonly<Record<string, unknown>> = {
  "/version": { major: "1", minor: "35", gitVersion: "v1.35.0" },
  "/api": { kind: "APIVersions", versions: ["v1"] },
  "/apis": {
    kind: "APIGroupList",
    apiVersion: "v1",
    groups: groups.map((groupVersion) => {
      const [name, version] = groupVersion.split("/")
      return { name, versions: [{ groupVersion, version }], preferredVersion: { groupVersion, version } }
    }),
  },
  ...Object.fromEntries(
    Object.entries(kinds).map(([groupVersion, all]) => [
      groupVersion === "v1" ? "/api/v1" : `/apis/${groupVersion}`,
      {
        kind: "APIResourceList",
        groupVersion,
        resources: all.map(([name, kind, namespaced]) => ({
          name,
          singularName: "",
          kind,
          namespaced,
          verbs: ["get"],
        })),
      },
    ]),
  ),
  // Helm's releases in the namespace.
  "/api/v1/namespaces/ops/secrets": { apiVersion: "v1", kind: "SecretList", metadata: {}, items: [] },
  "/api/v1/namespaces/kube-system": {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "kube-system" },
  },
}
const secretPath = "/api/v1/namespaces/ops/secrets/platform-operator-passphrase"
const claimPath = "/api/v1/namespaces/ops/persistentvolumeclaims/platform-operator-state"
/** What an earlier install of the same name and namespace has left. */
const kept = (name: string) => ({
  name,
  namespace: "ops",
  labels: { "app.kubernetes.io/managed-by": "Helm" },
  annotations: { "meta.helm.sh/release-name": "platform-operator", "meta.helm.sh/release-namespace": "ops" },
})
const secret = (data: object | undefined) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: kept("platform-operator-passphrase"),
  data,
})
const claim = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: kept("platform-operator-state"),
}

const servers: Array<Server> = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** An API server that has these objects, by path. */
const serve = (objects: Readonly<Record<string, unknown>>): Promise<string> =>
  new Promise((resolve) => {
    const server = createServer(({ url = "" }, response) => {
      const found = { ...discovery, ...objects }[url.split("?")[0] ?? ""]
      const missing = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "NotFound", code: 404 }
      response
        .writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" })
        .end(JSON.stringify(found ?? missing))
    })
    servers.push(server)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      resolve(`http://127.0.0.1:${port}`)
    })
  })

/** Helm keeps there what a server can do, by its address. */
const home = mkdtempSync(join(tmpdir(), "helm-home-"))
afterAll(() => rmSync(home, { recursive: true }))

type Said = { readonly said: string } | { readonly refused: string }
const run = (args: ReadonlyArray<string>): Promise<Said> =>
  new Promise((resolve) => {
    const env = { PATH: process.env.PATH, HOME: home, KUBECONFIG: "/dev/null" }
    execFile(helm, args, { env, maxBuffer: 2 ** 24 }, (error, said, refused) =>
      resolve(error === null ? { said } : { refused }),
    )
  })

const Installed = Schema.fromJsonString(Schema.Struct({ manifest: Schema.String }))

/** The passphrase that `helm install` would give the cluster, or what it says instead. */
const install = async (objects: Readonly<Record<string, unknown>>, ...given: ReadonlyArray<string>) => {
  const server = await serve(objects)
  const verb = given.includes("--is-upgrade")
    ? ["template"]
    : ["install", "--output=json", "--disable-openapi-validation"]
  const answer = await run([
    ...[...verb, "platform-operator", "charts/platform-operator", "--namespace=ops", "--dry-run=server"],
    ...[`--kube-apiserver=${server}`, `--set=image.digest=${digest}`, ...given],
  ])
  if ("refused" in answer) return answer
  const made = parseAllDocuments(Schema.decodeSync(Installed)(answer.said).manifest)
    .map((document): unknown => document.toJS())
    .filter(isRendered)
  return {
    passphrase: Buffer.from(String(pick(find(made, "Secret"), "data", "passphrase")), "base64").toString(),
  }
}

describe("the passphrase over a cluster", () => {
  it("is made on a first install, another one each time", async () => {
    const made = await Promise.all([install({}), install({})])
    for (const each of made) expect(each).toEqual({ passphrase: expect.stringMatching(/^[A-Za-z0-9]{48}$/) })
    expect(made[0]).not.toEqual(made[1])
  })

  it("is the one that is there, with its claim and without", async () => {
    const there = secret({ passphrase: Buffer.from("kept as it is").toString("base64") })
    for (const objects of [{ [secretPath]: there }, { [secretPath]: there, [claimPath]: claim }]) {
      expect(await install(objects)).toEqual({ passphrase: "kept as it is" })
    }
  })

  it("is never made for a claim whose own is lost", async () => {
    expect(await install({ [claimPath]: claim })).toEqual({
      refused: expect.stringContaining(
        "passphrase: the state claim ops/platform-operator-state exists, but Secret platform-operator-passphrase with its passphrase is gone. Restore the Secret from your backup",
      ),
    })
  })

  it("is never made by an upgrade", async () => {
    expect(await install({}, "--is-upgrade")).toEqual({
      refused: expect.stringContaining("passphrase: Secret ops/platform-operator-passphrase is gone."),
    })
  })

  it.each([undefined, {}, { passphrase: "" }, { other: "eA==" }])(
    "is never put in the place of a Secret that has none: %j",
    async (data) => {
      expect(await install({ [secretPath]: secret(data) })).toEqual({
        refused: expect.stringContaining(
          "passphrase: Secret ops/platform-operator-passphrase has no key passphrase.",
        ),
      })
    },
  )
})
