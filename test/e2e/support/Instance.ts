// PlatformInstances as a user writes and watches them.
import { Schema } from "effect"
import { getJson, kubectl } from "./Kubectl.ts"
import { until } from "./Until.ts"

const Condition = Schema.Struct({
  type: Schema.String,
  status: Schema.String,
  reason: Schema.String,
  message: Schema.String,
})

export const SeenInstance = Schema.Struct({
  metadata: Schema.Struct({
    name: Schema.String,
    namespace: Schema.String,
    uid: Schema.String,
    generation: Schema.Finite,
    annotations: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
    deletionTimestamp: Schema.optionalKey(Schema.String),
    finalizers: Schema.optionalKey(Schema.Array(Schema.String)),
  }),
  status: Schema.optionalKey(
    Schema.Struct({
      phase: Schema.optionalKey(Schema.String),
      observedGeneration: Schema.optionalKey(Schema.Finite),
      lastRepair: Schema.optionalKey(Schema.String),
      installedVersion: Schema.optionalKey(Schema.String),
      kubeconfigSecretRef: Schema.optionalKey(Schema.Struct({ name: Schema.String })),
      endpoints: Schema.optionalKey(
        Schema.Struct({
          http: Schema.optionalKey(Schema.String),
          kubernetes: Schema.optionalKey(Schema.String),
        }),
      ),
      conditions: Schema.optionalKey(Schema.Array(Condition)),
    }),
  ),
})
export type SeenInstance = typeof SeenInstance.Type

export interface Key {
  readonly namespace: string
  readonly name: string
}

/** An instance with two tenants and, unless asked for, nothing published on the node: any number fit on one cluster. */
export const manifest = ({ namespace, name }: Key, platform: object = {}): object => ({
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata: { namespace, name },
  spec: {
    version: "6.0.22",
    target: { type: "vcluster" },
    platform: {
      tenants: [{ name: "acme" }, { name: "globex" }],
      users: [{ name: "dev", memberships: [{ tenant: "acme", role: "developer" }] }],
      ...platform,
    },
    deletionPolicy: "Delete",
  },
})

export const getInstance = ({ namespace, name }: Key): Promise<SeenInstance> =>
  getJson(SeenInstance, ["pi", name, "--namespace", namespace])

export const conditionOf = (instance: SeenInstance, type: string) =>
  instance.status?.conditions?.find((condition) => condition.type === type)

export const isReady = (instance: SeenInstance): boolean =>
  instance.status?.phase === "Ready" &&
  instance.status.observedGeneration === instance.metadata.generation &&
  conditionOf(instance, "Ready")?.status === "True"

/** Waits for Ready; on the way the instance may fail, it only has to come up in the end. */
export const untilReady = (key: Key): Promise<SeenInstance> =>
  until(`${key.namespace}/${key.name} is Ready`, async () => {
    const instance = await getInstance(key)
    return isReady(instance) ? instance : undefined
  })

/** Asks the operator to try at once, whatever it waits for. */
export const requestReconcile = ({ namespace, name }: Key): Promise<string> =>
  kubectl([
    ...["annotate", "pi", name, "--namespace", namespace, "--overwrite"],
    `platform.di-framework.dev/reconcile-requested-at=${new Date().toISOString()}`,
  ])

/** Changes these fields of its spec; lists are replaced. */
export const editInstance = ({ namespace, name }: Key, spec: object): Promise<string> =>
  kubectl([
    ...["patch", "pi", name, "--namespace", namespace, "--type=merge"],
    `--patch=${JSON.stringify({ spec })}`,
  ])

/** `NAME=VALUE`, or `NAME-` to take it away. */
export const annotateInstance = ({ namespace, name }: Key, annotation: string): Promise<string> =>
  kubectl(["annotate", "--overwrite", "pi", name, annotation, "--namespace", namespace])

export const deleteInstance = ({ namespace, name }: Key): Promise<string> =>
  kubectl(["delete", "pi", name, "--namespace", namespace, "--ignore-not-found", "--timeout=300s"])

const Namespaces = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({
      metadata: Schema.Struct({
        name: Schema.String,
        annotations: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
      }),
    }),
  ),
})

/** The host namespace, found as the documentation says: by its annotation. */
export const findHostNamespace = async ({ namespace, name }: Key): Promise<string | undefined> => {
  const { items } = await getJson(Namespaces, ["namespaces"])
  return items.find(
    ({ metadata }) => metadata.annotations?.["platform.di-framework.dev/instance"] === `${namespace}/${name}`,
  )?.metadata.name
}

const ReleaseSecrets = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({
      metadata: Schema.Struct({ labels: Schema.Struct({ version: Schema.String, status: Schema.String }) }),
    }),
  ),
})

/** The revisions of a release that are recorded, with their status, oldest first: `1 superseded`, `2 deployed`. */
export const revisions = async (release: string, namespace: string, ...context: ReadonlyArray<string>) => {
  const { items } = await getJson(ReleaseSecrets, [
    ...context,
    "secrets",
    "--namespace",
    namespace,
    `--selector=owner=helm,name=${release}`,
  ])
  return items.map(({ metadata }) => `${metadata.labels.version} ${metadata.labels.status}`).sort()
}
