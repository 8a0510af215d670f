// The in-memory API server, put together.
import { createHash } from "node:crypto"
import { Clock, Effect, Random } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import {
  type ApiAnswer,
  type ApiRequest,
  type ApiServer,
  ApiStatus,
  type OpenWatch,
  type Writable,
} from "./ApiServer.ts"
import { makeApiClient } from "./Client.ts"
import { servedBy } from "./Crd.ts"
import { answer, callOf, isWatch } from "./Dispatch.ts"
import { makeFaults } from "./Faults.ts"
import { freeze } from "./Json.ts"
import { type Machine, timestamp } from "./Machine.ts"
import { Authorizer } from "./Rbac.ts"
import { formOf } from "./Read.ts"
import { Resources } from "./Resources.ts"
import { isRoute, routeOf } from "./Route.ts"
import { Store } from "./Store.ts"
import { Watches } from "./Watch.ts"

export interface ServerOptions {
  readonly name: string
  /** Whether it has ValidatingAdmissionPolicies (Kubernetes 1.30 or later). Default true. */
  readonly admissionPolicies?: boolean
  /** Whether it authorizes by RBAC. Default true; else everybody may do all. */
  readonly rbac?: boolean
}

const SYSTEM_NAMESPACES = ["default", "kube-system", "kube-public", "kube-node-lease"]

const CLUSTER_ADMIN = { name: "cluster-admin" }
const RBAC = "rbac.authorization.k8s.io"

const bootstrapObjects: ReadonlyArray<readonly [typeof Kinds.Role, Writable]> = [
  ...SYSTEM_NAMESPACES.map(
    (name) => [Kinds.Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }] as const,
  ),
  [
    Kinds.ClusterRole,
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRole",
      metadata: CLUSTER_ADMIN,
      rules: [
        { apiGroups: ["*"], resources: ["*"], verbs: ["*"] },
        { nonResourceURLs: ["*"], verbs: ["*"] },
      ],
    },
  ],
  [
    Kinds.ClusterRoleBinding,
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: CLUSTER_ADMIN,
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "Group", name: "system:masters" }],
    },
  ],
]

/** A source of bytes that a seed determines: the UIDs of a run are those of its replay. */
const bytesOf = (seed: string) => {
  let count = 0
  return () => {
    count += 1
    return createHash("sha256").update(`${seed}/${count}`).digest()
  }
}

const uidFrom = (bytes: Buffer): string => {
  const hex = bytes.toString("hex")
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-")
}

/** The letters of generated names: without vowels, so that no words come about. */
const LETTERS = "bcdfghjklmnpqrstvwxz2456789"

const suffixFrom = (bytes: Buffer): string =>
  [...bytes.subarray(0, 5)].map((byte) => LETTERS[byte % LETTERS.length]).join("")

const FIRST_NODE_PORT = 30_000

const makeMachine = (options: ServerOptions, seed: string, millis: () => number): Machine => {
  const store = new Store()
  const bytes = bytesOf(seed)
  let addresses = 0
  let ports = 0
  return {
    store,
    resources: new Resources({ admissionPolicies: options.admissionPolicies ?? true }),
    authorizer: new Authorizer(store, options.rbac ?? true),
    uid: () => uidFrom(bytes()),
    suffix: () => suffixFrom(bytes()),
    millis,
    now: () => timestamp(millis()),
    clusterIP: () => {
      addresses += 1
      return `10.96.${(addresses >> 8) & 255}.${addresses & 255}`
    },
    nodePort: () => {
      ports += 1
      return FIRST_NODE_PORT + ports
    },
  }
}

/** Definitions that come and go make kinds come and go. */
const serveDefinitions = ({ store, resources }: Machine): void => {
  store.subscribe(({ type, kind, object, previous }) => {
    if (kind.kind !== Kinds.CustomResourceDefinition.kind) return
    for (const resource of servedBy(previous ?? {})) resources.remove(resource.kind)
    if (type !== "DELETED") for (const resource of servedBy(object)) resources.add(resource)
  })
}

const refused = (error: unknown): ApiAnswer => {
  if (!(error instanceof ApiStatus)) throw error
  return { status: error.code, body: error.body }
}

const assemble = (options: ServerOptions, seed: string, millis: () => number): ApiServer => {
  const machine = makeMachine(options, seed, millis)
  const watches = new Watches(machine)
  serveDefinitions(machine)

  const handle = (request: ApiRequest): ApiAnswer => {
    try {
      const found = answer(machine, request)
      return typeof found.body === "string" ? found : freeze(found)
    } catch (error) {
      return refused(error)
    }
  }

  const watch: ApiServer["watch"] = (request, handlers): ApiAnswer | OpenWatch => {
    try {
      const route = routeOf(request.path)
      if (!isRoute(route) || !isWatch(route)) return handle(request)
      if (!machine.resources.serves(route.group, route.version)) return handle({ ...request, path: "/404" })
      return watches.open(callOf(machine, request, route), formOf(request.accept, route.query), handlers)
    } catch (error) {
      return refused(error)
    }
  }

  const api: ApiServer = {
    name: options.name,
    handle,
    watch,
    as: (user, manager = user) => makeApiClient(user, manager, (request) => handle({ user, ...request })),
    subscribe: (listener) => machine.store.subscribe(listener),
    faults: makeFaults(machine.store, watches),
    revision: () => machine.store.revision,
    backup: () => machine.store.backup(),
    restore: (backup) => {
      watches.cut(undefined)
      machine.store.restore(backup)
      machine.authorizer.forget()
    },
  }
  const system = api.as("system:apiserver", "kube-apiserver")
  for (const [kind, manifest] of bootstrapObjects) system.create(kind, manifest)
  return api
}

/** A new API server with what every cluster has. Time is the Clock's, and chance the Random's, of this moment. */
export const makeApiServer = Effect.fnUntraced(function* (options: ServerOptions) {
  const clock = yield* Clock.Clock
  const seed = `${options.name}/${yield* Random.nextInt}`
  return assemble(options, seed, () => clock.currentTimeMillisUnsafe())
})
