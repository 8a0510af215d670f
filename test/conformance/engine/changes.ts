// Installs, changes, drift, and targets that are elsewhere or nowhere.
import { Effect, FileSystem } from "effect"
import { ConfigMap, Deployment, Secret, Service } from "../../../src/services/Kubernetes/Kinds.ts"
import { at } from "../../twins/kubernetes/Json.ts"
import type { Step } from "../Scenario.ts"
import { type EngineSide, isWritten, run, stateOf } from "./Side.ts"
import { after, auth, only, plain, stackFile, step, tenants, withConfig } from "./steps.ts"
import { fieldOf, namespace, objectsOf, remove, revisionsOf, uidOf } from "./Target.ts"

export const installing: ReadonlyArray<Step<EngineSide>> = [
  step("a package that is not there", only({ version: "6.0.99" })),
  step("a first install", after({ version: "6.0.21" })),
  step("the same again changes nothing", after({ version: "6.0.21" })),
  step("a refresh and the same again", after({ version: "6.0.21", refresh: true })),
  step("another version", after({ version: "6.0.22" })),
  step("a program that throws deletes nothing", after({ version: "6.0.90" })),
  step("the version before again", only()),
  step("a tenant's name that is bad", only(withConfig(tenants("Acme")))),
  step("a config value that is none", only(withConfig({ networkPolicyEngine: "calico" }))),
]

export const changing: ReadonlyArray<Step<EngineSide>> = [
  step(
    "tenant auth with its secret",
    Effect.fnUntraced(function* (side) {
      const found = yield* after(auth)(side)
      const written = yield* isWritten(side, "planted-client-secret")
      const stored = yield* fieldOf(side, Secret, "platform-operator-tenant-auth", (object) =>
        at(object, "data", "clientSecret"),
      )
      return { found, written, stored }
    }),
  ),
  step("the same secret again", only(auth)),
  step(
    "another secret",
    Effect.fnUntraced(function* (side) {
      const found = yield* run(side, {
        ...auth,
        secretConfig: { tenantAuthClientSecret: "another-client-secret" },
      })
      const stored = yield* fieldOf(side, Secret, "platform-operator-tenant-auth", (object) =>
        at(object, "data", "clientSecret"),
      )
      return { found, stored }
    }),
  ),
  step(
    "one more tenant and a user",
    after({
      ...auth,
      config: {
        ...auth.config,
        ...tenants("acme", "beta"),
        users: JSON.stringify([{ name: "dev", memberships: [{ tenant: "acme", role: "developer" }] }]),
      },
    }),
  ),
  step(
    "a config key that is gone from the request is gone from the stack",
    Effect.fnUntraced(function* (side) {
      const fs = yield* FileSystem.FileSystem
      const before = (yield* fs.readFileString(stackFile(side))).includes("users")
      const found = yield* run(side, {
        ...auth,
        config: { ...auth.config, ...tenants("acme", "beta"), httpEndpoint: "http://127.0.0.1:30080" },
      })
      return { before, found, after: (yield* fs.readFileString(stackFile(side))).includes("users") }
    }),
  ),
  step(
    "values of the release",
    Effect.fnUntraced(function* (side) {
      const found = yield* run(side, {
        ...auth,
        config: { ...auth.config, ...tenants("acme", "beta"), values: '{"replicas":2}' },
      })
      const replicas = yield* fieldOf(side, Deployment, "wasmcloud-hosts", (object) =>
        at(object, "spec", "replicas"),
      )
      return { found, replicas, revisions: yield* revisionsOf(side) }
    }),
  ),
]

export const drifting: ReadonlyArray<Step<EngineSide>> = [
  step(
    "drift that nobody has looked for",
    Effect.fnUntraced(function* (side) {
      yield* remove(side, ConfigMap, "di-platform-version")
      yield* side.client.patch(
        Service,
        { namespace, name: "di-platform-gateway" },
        { type: "merge", patch: { spec: { ports: [{ name: "http", port: 80, targetPort: 9090 }] } } },
      )
      return yield* run(side, plain)
    }),
  ),
  step(
    "drift after a refresh",
    Effect.fnUntraced(function* (side) {
      const found = yield* run(side, { ...plain, refresh: true })
      const port = yield* fieldOf(side, Service, "di-platform-gateway", (object) => {
        const ports = at(object, "spec", "ports")
        return Array.isArray(ports) ? ports.map((one) => at(one, "targetPort")) : ports
      })
      return { found, port, objects: yield* objectsOf(side) }
    }),
  ),
  step(
    "drift inside of a release stays",
    Effect.fnUntraced(function* (side) {
      yield* remove(side, Secret, "wasmcloud-hosts")
      const found = yield* run(side, { ...plain, refresh: true })
      return { found, secret: yield* uidOf(side, Secret, "wasmcloud-hosts") }
    }),
  ),
  step(
    "a label of somebody's own stays",
    Effect.fnUntraced(function* (side) {
      yield* side.client.patch(
        ConfigMap,
        { namespace, name: "di-platform-version" },
        { type: "merge", patch: { metadata: { labels: { own: "yes" } }, data: { own: "x" } } },
      )
      const found = yield* run(side, { ...plain, refresh: true })
      return {
        found,
        data: yield* fieldOf(side, ConfigMap, "di-platform-version", (object) =>
          Object.keys(Object(at(object, "data"))).sort(),
        ),
      }
    }),
  ),
]

export const reaching: ReadonlyArray<Step<EngineSide>> = [
  step("another CA of the same cluster", only({ ...plain, kubeconfig: { bundled: true } })),
  step("another user of the same cluster", only({ ...plain, kubeconfig: { user: "other" } })),
  step(
    "another address of the same cluster",
    only({ ...plain, kubeconfig: { server: "https://localhost" } }),
  ),
  step("and the address before", only(plain)),
  step(
    "a target that refuses, with a refresh",
    Effect.fnUntraced(function* (side) {
      const found = yield* run(side, {
        ...plain,
        refresh: true,
        kubeconfig: { server: "https://127.0.0.1:1" },
      })
      return { found, state: yield* stateOf(side) }
    }),
  ),
  step(
    "a target that refuses, without one",
    Effect.fnUntraced(function* (side) {
      const found = yield* run(side, { ...plain, kubeconfig: { server: "https://127.0.0.1:1" } })
      return { found, state: yield* stateOf(side) }
    }),
  ),
  step("a refresh goes where the state says, not where the request says", only({ ...plain, refresh: true })),
  step("until an up has been there", only(plain)),
]
