// What a rotation of the passphrase finds and makes in the operator's namespace. Pure.
import { Option, Schema } from "effect"
import { GROUP } from "../schema/Names.ts"

/** On the operator's Deployment while a rotation has it stopped: how many replicas it had. */
export const ANNOTATION_REPLICAS = `${GROUP}/replicas-before-rotation`

const Mount = Schema.Struct({
  name: Schema.String,
  mountPath: Schema.String,
  subPath: Schema.optionalKey(Schema.String),
})
const Volume = Schema.Struct({
  name: Schema.String,
  persistentVolumeClaim: Schema.optionalKey(Schema.Struct({ claimName: Schema.String })),
  secret: Schema.optionalKey(
    Schema.Struct({
      secretName: Schema.String,
      items: Schema.optionalKey(Schema.Array(Schema.Struct({ key: Schema.String, path: Schema.String }))),
    }),
  ),
})
const Container = Schema.Struct({
  name: Schema.String,
  image: Schema.String,
  imagePullPolicy: Schema.optionalKey(Schema.String),
  args: Schema.optionalKey(Schema.Array(Schema.String)),
  securityContext: Schema.optionalKey(Schema.Unknown),
  volumeMounts: Schema.optionalKey(Schema.Array(Mount)),
})
/** What of a pod says where it may run, and as whom: it is handed on as it is. */
const placing = {
  serviceAccountName: Schema.optionalKey(Schema.Unknown),
  securityContext: Schema.optionalKey(Schema.Unknown),
  imagePullSecrets: Schema.optionalKey(Schema.Unknown),
  nodeSelector: Schema.optionalKey(Schema.Unknown),
  tolerations: Schema.optionalKey(Schema.Unknown),
  affinity: Schema.optionalKey(Schema.Unknown),
  priorityClassName: Schema.optionalKey(Schema.Unknown),
  runtimeClassName: Schema.optionalKey(Schema.Unknown),
}
const Placing = Schema.Struct(placing)

export const Deployment = Schema.Struct({
  metadata: Schema.Struct({
    name: Schema.String,
    annotations: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  }),
  spec: Schema.Struct({
    replicas: Schema.optionalKey(Schema.Finite),
    selector: Schema.Struct({ matchLabels: Schema.Record(Schema.String, Schema.String) }),
    template: Schema.Struct({
      spec: Schema.Struct({
        containers: Schema.Array(Container),
        volumes: Schema.optionalKey(Schema.Array(Volume)),
        ...placing,
      }),
    }),
  }),
})
export type Deployment = typeof Deployment.Type
export const Deployments = Schema.Struct({ items: Schema.Array(Deployment) })

export const Secret = Schema.Struct({
  metadata: Schema.Struct({
    name: Schema.String,
    namespace: Schema.optionalKey(Schema.String),
    uid: Schema.optionalKey(Schema.String),
    resourceVersion: Schema.optionalKey(Schema.String),
    labels: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
    annotations: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
    ownerReferences: Schema.optionalKey(Schema.Unknown),
    finalizers: Schema.optionalKey(Schema.Unknown),
  }),
  type: Schema.optionalKey(Schema.String),
  immutable: Schema.optionalKey(Schema.Boolean),
  data: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
})
export type Secret = typeof Secret.Type

const Condition = Schema.Struct({
  type: Schema.String,
  status: Schema.String,
  message: Schema.optionalKey(Schema.String),
})
export const Job = Schema.Struct({
  status: Schema.optionalKey(Schema.Struct({ conditions: Schema.optionalKey(Schema.Array(Condition)) })),
})
export type Job = typeof Job.Type

export const JobPods = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({
      metadata: Schema.Struct({ name: Schema.String }),
      status: Schema.optionalKey(
        Schema.Struct({
          containerStatuses: Schema.optionalKey(
            Schema.Array(
              Schema.Struct({
                state: Schema.optionalKey(
                  Schema.Struct({
                    waiting: Schema.optionalKey(Schema.Struct({ reason: Schema.optionalKey(Schema.String) })),
                    terminated: Schema.optionalKey(Schema.Struct({ exitCode: Schema.Finite })),
                  }),
                ),
              }),
            ),
          ),
        }),
      ),
    }),
  ),
})

/** `True`: it has succeeded; `False`: it has failed; nothing while it runs. */
export const endOf = ({
  status,
}: Job): { readonly succeeded: boolean; readonly message: string } | undefined => {
  for (const { type, status: state, message = "" } of status?.conditions ?? []) {
    if (state === "True" && (type === "Complete" || type === "Failed")) {
      return { succeeded: type === "Complete", message }
    }
  }
  return undefined
}

/** The operator, and what of it a rotation works with. */
export interface Operator {
  readonly deployment: Deployment
  readonly container: typeof Container.Type
  readonly claim: string
  /** In its pod. */
  readonly stateDir: string
  readonly passphraseFile: string
  readonly stateVolume: string
  /** Where in the claim the state directory is. */
  readonly subPath: string | undefined
  readonly secret: string
  /** Of that Secret. */
  readonly key: string
}

const CONTAINER = "operator"

/** Of its arguments; what it is without one. */
export const flagOf = (args: ReadonlyArray<string>, flag: string, otherwise: string): string => {
  const joined = args.find((arg) => arg.startsWith(`${flag}=`))
  const apart = args.indexOf(flag)
  return joined?.slice(flag.length + 1) ?? (apart < 0 ? undefined : args[apart + 1]) ?? otherwise
}

/** By what its container has mounted where its flags say; nothing where that is neither a claim nor a Secret. */
export const operatorOf = (deployment: Deployment): Option.Option<Operator> =>
  Option.gen(function* () {
    const { containers, volumes = [] } = deployment.spec.template.spec
    const container = yield* Option.fromNullishOr(
      containers.find(({ name }) => name === CONTAINER) ?? containers[0],
    )
    const { args = [], volumeMounts = [] } = container
    const mountedAt = (path: string) =>
      Option.fromNullishOr(volumeMounts.find(({ mountPath }) => mountPath.replace(/\/$/, "") === path))
    const volume = (name: string) => Option.fromNullishOr(volumes.find((each) => each.name === name))
    const stateDir = flagOf(args, "--state-dir", "/var/lib/platform-operator")
    const state = yield* mountedAt(stateDir)
    const file = flagOf(args, "--passphrase-file", "/etc/platform-operator/passphrase/passphrase")
    const slash = file.lastIndexOf("/")
    const passphrase = yield* mountedAt(file.slice(0, slash))
    const claim = yield* Option.fromNullishOr((yield* volume(state.name)).persistentVolumeClaim)
    const { secretName, items } = yield* Option.fromNullishOr((yield* volume(passphrase.name)).secret)
    const name = file.slice(slash + 1)
    const key = items === undefined ? name : items.find(({ path }) => path === name)?.key
    return {
      deployment,
      container,
      claim: claim.claimName,
      stateDir,
      passphraseFile: file,
      stateVolume: state.name,
      subPath: state.subPath,
      secret: secretName,
      key: yield* Option.fromNullishOr(key),
    }
  })

/**
 * The Secret of the rotation itself. It is nobody else's: what manages the passphrase's own Secret (Helm, a GitOps tool, an operator of
 * secrets) would take away keys that it does not know, or put an older passphrase back, and the new one would be lost.
 */
export const rotationSecretName = ({ secret }: Operator): string => `${secret}-rotation`
/** In it: what is rotated to, while a rotation is under way. */
export const NEXT = "next"
/** In it: what was rotated to the last time. */
export const ROTATED = "rotated"

export const rotationSecret = (
  operator: Operator,
  namespace: string,
  before: Option.Option<Secret>,
  data: Readonly<Record<string, string>>,
) => {
  const resourceVersion = Option.flatMap(before, ({ metadata }) =>
    Option.fromNullishOr(metadata.resourceVersion),
  )
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: "Opaque",
    metadata: {
      name: rotationSecretName(operator),
      namespace,
      labels: {
        "app.kubernetes.io/name": "platform-operator-passphrase-rotation",
        "app.kubernetes.io/managed-by": "kubectl-pi",
      },
      ...Option.match(resourceVersion, {
        onNone: () => ({}),
        onSome: (version) => ({ resourceVersion: version }),
      }),
    },
    data,
  }
}

export const jobName = ({ deployment }: Operator): string =>
  `${deployment.metadata.name.slice(0, 40)}-rotate-passphrase`

/** Nothing was changed, and nothing is under the new passphrase. */
export const UNTOUCHED = 10
/** An image from before there was a rotation. */
export const lacksRotation = (log: string): boolean => /Cannot find module .*rotate-passphrase\.mjs/.test(log)

const MOUNTS = {
  state: "/var/lib/platform-operator",
  current: "/run/passphrase/current",
  rotation: "/run/passphrase/rotation",
}

/** Runs as the operator does, without its token and without any of its environment. */
export const rotationJob = (operator: Operator, namespace: string, hasRotated: boolean) => {
  const { deployment, container, claim, subPath, secret, key } = operator
  const labels = {
    "app.kubernetes.io/name": "platform-operator-passphrase-rotation",
    "app.kubernetes.io/managed-by": "kubectl-pi",
  }
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: jobName(operator), namespace, labels },
    spec: {
      backoffLimit: 0,
      // Also while no pod starts: then it is told why.
      activeDeadlineSeconds: 3600,
      template: {
        metadata: { labels },
        spec: {
          ...placingOf(deployment),
          restartPolicy: "Never",
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          containers: [
            {
              name: "rotate-passphrase",
              image: container.image,
              ...(container.imagePullPolicy === undefined
                ? {}
                : { imagePullPolicy: container.imagePullPolicy }),
              command: ["/usr/bin/tini", "--", "node", "/opt/platform-operator/rotate-passphrase.mjs"],
              args: [
                `--state-dir=${MOUNTS.state}`,
                `--from-file=${MOUNTS.current}/passphrase`,
                ...(hasRotated ? [`--from-file=${MOUNTS.rotation}/${ROTATED}`] : []),
                `--to-file=${MOUNTS.rotation}/${NEXT}`,
              ],
              terminationMessagePolicy: "FallbackToLogsOnError",
              ...(container.securityContext === undefined
                ? {}
                : { securityContext: container.securityContext }),
              resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "1Gi" } },
              volumeMounts: [
                { name: "state", mountPath: MOUNTS.state, ...(subPath === undefined ? {} : { subPath }) },
                { name: "current", mountPath: MOUNTS.current, readOnly: true },
                { name: "rotation", mountPath: MOUNTS.rotation, readOnly: true },
              ],
            },
          ],
          volumes: [
            { name: "state", persistentVolumeClaim: { claimName: claim } },
            {
              name: "current",
              secret: { secretName: secret, defaultMode: 0o440, items: [{ key, path: "passphrase" }] },
            },
            {
              name: "rotation",
              secret: {
                secretName: rotationSecretName(operator),
                defaultMode: 0o440,
                items: [NEXT, ...(hasRotated ? [ROTATED] : [])].map((each) => ({ key: each, path: each })),
              },
            },
          ],
        },
      },
    },
  }
}

const placingOf = ({ spec }: Deployment): typeof Placing.Type => {
  const { containers: _, volumes: __, ...rest } = spec.template.spec
  return rest
}
