// What a backup and a restore find and make in a cluster. Pure.
import { Schema } from "effect"
import type { InstanceKey } from "../schema/InstanceKey.ts"
import {
  ANNOTATION_APPROVE,
  ANNOTATION_DRIFT,
  ANNOTATION_PROTECT,
  ANNOTATION_RESTORE,
  ANNOTATION_SKIP_STORAGE_CLEANUP,
  ANNOTATION_WINDOW,
  API_VERSION,
  GROUP,
} from "../schema/Names.ts"

const Strings = Schema.Record(Schema.String, Schema.String)
const Fields = Schema.Record(Schema.String, Schema.Unknown)

/** A PlatformInstance as it is stored, whatever its release's spec has. */
export const WholeInstance = Schema.Struct({
  metadata: Schema.Struct({
    name: Schema.String,
    namespace: Schema.String,
    uid: Schema.String,
    generation: Schema.optionalKey(Schema.Finite),
    deletionTimestamp: Schema.optionalKey(Schema.String),
    labels: Schema.optionalKey(Strings),
    annotations: Schema.optionalKey(Strings),
  }),
  spec: Fields,
})
export type WholeInstance = typeof WholeInstance.Type

/** What of it is kept: as it is applied again. */
export const KeptInstance = Schema.Struct({
  metadata: Schema.Struct({
    labels: Schema.optionalKey(Strings),
    annotations: Schema.optionalKey(Strings),
  }),
  spec: Fields,
})
export type KeptInstance = typeof KeptInstance.Type

/** Those of the operator's prefix that say how an instance is run, and not what is to be done now. */
const keptAnnotations: ReadonlySet<string> = new Set([
  ANNOTATION_APPROVE,
  ANNOTATION_DRIFT,
  ANNOTATION_PROTECT,
  ANNOTATION_SKIP_STORAGE_CLEANUP,
  ANNOTATION_WINDOW,
])
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

export const keptOf = ({ metadata, spec }: WholeInstance): KeptInstance => {
  const annotations = Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).filter(
      ([name]) => name !== LAST_APPLIED && (keptAnnotations.has(name) || !name.startsWith(`${GROUP}/`)),
    ),
  )
  return {
    metadata: {
      ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    spec,
  }
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  Schema.is(Fields)(value) ? value : {}

/**
 * Labels and annotations that a clone does not get: whoever has given them to the first one, such as Argo CD or Flux, would take the
 * clone for its own, and delete it.
 */
export const notClonedMetadata = ({ metadata }: KeptInstance): ReadonlyArray<string> => [
  ...Object.keys(metadata.labels ?? {}).map((name) => `label ${name}`),
  ...Object.keys(metadata.annotations ?? {})
    .filter((name) => !keptAnnotations.has(name))
    .map((name) => `annotation ${name}`),
]

const clonedMetadata = ({ annotations = {} }: KeptInstance["metadata"]): KeptInstance["metadata"] => ({
  annotations: Object.fromEntries(Object.entries(annotations).filter(([name]) => keptAnnotations.has(name))),
})

/** What a spec asks for of the node, that no two instances can have. */
export const placesOf = (spec: unknown): { readonly root?: string; readonly port?: number } => {
  const platform = fieldsOf(fieldsOf(spec).platform)
  const { storageRoot } = platform
  const { httpNodePort } = fieldsOf(platform.gateway)
  return {
    ...(typeof storageRoot === "string" && storageRoot !== "" ? { root: storageRoot } : {}),
    ...(typeof httpNodePort === "number" && httpNodePort !== 0 ? { port: httpNodePort } : {}),
  }
}

/** What a clone cannot have of the spec, because the first one has it; as it is told. */
export const notCloned = ({ spec }: KeptInstance): ReadonlyArray<string> => {
  const gateway = fieldsOf(fieldsOf(spec.platform).gateway)
  const { root, port } = placesOf(spec)
  return [
    ...(root === undefined ? [] : [`spec.platform.storageRoot ${root}`]),
    ...(port === undefined ? [] : [`spec.platform.gateway.httpNodePort ${port}`]),
    ...(gateway.httpEndpoint === undefined
      ? []
      : [`spec.platform.gateway.httpEndpoint ${String(gateway.httpEndpoint)}`]),
  ]
}

const clonedSpec = (spec: KeptInstance["spec"]): KeptInstance["spec"] => {
  if (spec.platform === undefined) return spec
  const { storageRoot: _, gateway: __, ...platform } = fieldsOf(spec.platform)
  return { ...spec, platform }
}

/** As it is made: nothing is installed in it before it is let go. */
export const restoredInstance = (
  { metadata, spec }: KeptInstance,
  { namespace, name }: InstanceKey,
  id: string,
  isClone: boolean,
) => {
  const { labels, annotations } = isClone ? clonedMetadata(metadata) : metadata
  return {
    apiVersion: API_VERSION,
    kind: "PlatformInstance",
    metadata: {
      namespace,
      name,
      ...(labels === undefined ? {} : { labels }),
      annotations: { ...annotations, [ANNOTATION_RESTORE]: id },
    },
    spec: isClone ? clonedSpec(spec) : spec,
  }
}

const SecretRef = Schema.Struct({ name: Schema.String, key: Schema.String })

/** The Secret that its spec names: the user's, and not in a backup. */
export const clientSecretOf = ({ spec }: KeptInstance): typeof SecretRef.Type | undefined => {
  const ref = fieldsOf(fieldsOf(spec.platform).tenantAuth).clientSecretRef
  return Schema.is(SecretRef)(ref) ? ref : undefined
}

/** `statefulset/vcluster`, as far as a pod over its volume is made of it. */
export const ControlPlane = Schema.Struct({
  metadata: Schema.Struct({
    namespace: Schema.String,
    labels: Schema.optionalKey(Strings),
  }),
  spec: Schema.Struct({
    template: Schema.Struct({
      spec: Schema.Struct({
        containers: Schema.Array(
          Schema.Struct({
            name: Schema.String,
            image: Schema.String,
            imagePullPolicy: Schema.optionalKey(Schema.Unknown),
            env: Schema.optionalKey(Schema.Array(Schema.Unknown)),
            resources: Schema.optionalKey(Schema.Unknown),
            securityContext: Schema.optionalKey(Schema.Unknown),
            volumeMounts: Schema.optionalKey(Schema.Unknown),
          }),
        ),
        volumes: Schema.optionalKey(Schema.Array(Fields)),
        initContainers: Schema.optionalKey(Schema.Unknown),
        serviceAccountName: Schema.optionalKey(Schema.Unknown),
        securityContext: Schema.optionalKey(Schema.Unknown),
        imagePullSecrets: Schema.optionalKey(Schema.Unknown),
        nodeSelector: Schema.optionalKey(Schema.Unknown),
        tolerations: Schema.optionalKey(Schema.Unknown),
        affinity: Schema.optionalKey(Schema.Unknown),
      }),
    }),
  }),
})
export type ControlPlane = typeof ControlPlane.Type

/** The container with vCluster's program. */
export const SYNCER = "syncer"
export const CONTROL_PLANE = "vcluster"
/** The Secret with its authorities, certificates and keys. */
export const CERTIFICATES = `${CONTROL_PLANE}-certs`
/**
 * What a vCluster syncs to its host namespace, of every kind that it does. Those of another content than its own it deletes when it
 * starts, and takes their end for somebody's wish: the object inside would go, too.
 */
export const SYNCED = [
  "pods,services,endpoints,endpointslices.discovery.k8s.io,configmaps,secrets,persistentvolumeclaims,networkpolicies.networking.k8s.io",
  "--selector=vcluster.loft.sh/managed-by",
]
export const RESTORE_POD = "vcluster-restore"
/** Of the pod: which command has made it. */
export const LABEL_RUN = `${GROUP}/restore-run`
const RUN = "KUBECTL_PI_RUN"
/** On the claim of the control plane: the id of the backup whose data it has, whole; or that a command has begun to put it there. */
export const ANNOTATION_RESTORED = `${GROUP}/restored`
/** The volume of the control plane, and the claim that is mounted as it. */
const DATA = "data"
export const CLAIM = `data-${CONTROL_PLANE}-0`

/** Which version of its chart a vCluster has: `vcluster-0.37.3`. */
export const chartVersionOf = ({ metadata }: ControlPlane): string =>
  (metadata.labels?.chart ?? "").replace(/^vcluster-/, "")

/** Of a container in which programs are called: it waits for a line that nobody sends. */
export const idle = { command: ["/bin/sh", "-c", "read _"], stdin: true }

/** Runs nothing by itself: vCluster's own program is called in it, with the volume that the control plane has left. */
export const restorePod = ({ metadata, spec }: ControlPlane, run: string) => {
  const { containers, volumes = [], ...placing } = spec.template.spec
  const container = containers.find(({ name }) => name === SYNCER)
  if (container === undefined) return undefined
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: RESTORE_POD,
      namespace: metadata.namespace,
      labels: { "app.kubernetes.io/managed-by": "kubectl-pi", [LABEL_RUN]: run },
    },
    spec: {
      ...placing,
      restartPolicy: "Never",
      // Where this program dies.
      activeDeadlineSeconds: 3600,
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          ...container,
          ...idle,
          env: [...(container.env ?? []), { name: RUN, value: run }],
        },
      ],
      volumes: [
        ...volumes.filter(({ name }) => name !== DATA),
        { name: DATA, persistentVolumeClaim: { claimName: CLAIM } },
      ],
    },
  }
}

/** How vCluster's program is told where a snapshot goes to or comes from: a stream of its own. */
const storage = (path: string): string =>
  Buffer.from(JSON.stringify({ type: "container", container: { path } })).toString("base64")

/** How a script is run in a container; `flags` are those of its shell. */
export const inShell =
  (container: string, flags: string) =>
  (pod: string, stdin: boolean, script: string): ReadonlyArray<string> => [
    "exec",
    ...(stdin ? ["--stdin"] : []),
    pod,
    `--container=${container}`,
    "--",
    "/bin/sh",
    flags,
    script,
  ]

const inSyncer = inShell(SYNCER, "-c")

/** The database at one revision, read through the server that has it open. */
export const snapshotCommand = inSyncer(
  `${CONTROL_PLANE}-0`,
  false,
  `VCLUSTER_STORAGE_OPTIONS=${storage("/dev/stdout")} exec /vcluster snapshot`,
)

/**
 * In place of the database that is there. As of a new vCluster: the objects of the host that its mappings name are gone. Its
 * certificates are downloaded from their Secret at the next start, if they are not on the volume. Only in the pod of this run.
 */
export const restoreCommand = (run: string) =>
  inSyncer(
    RESTORE_POD,
    true,
    `[ "$${RUN}" = ${run} ] || { echo "the pod is another command's" >&2; exit 1; }; VCLUSTER_STORAGE_OPTIONS=${storage("/dev/stdin")} exec /vcluster restore --new-vcluster`,
  )
