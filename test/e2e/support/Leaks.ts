// What is left when the last test of a file has ended: nothing of any instance in its namespaces, anywhere in the cluster
// or on the node. The admission policies, their bindings and the PriorityClass stay until somebody removes them.
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { afterAll } from "@effect/vitest"
import { Schema } from "effect"
import { fromNode, onNode, storageRootBase } from "./Cluster.ts"
import { kubectl } from "./Kubectl.ts"
import { stateDirectory } from "./Operator.ts"
import { until } from "./Until.ts"

const Texts = Schema.Record(Schema.String, Schema.String)
const Found = Schema.fromJsonString(
  Schema.Struct({
    items: Schema.Array(
      Schema.Struct({
        kind: Schema.String,
        metadata: Schema.Struct({
          name: Schema.String,
          namespace: Schema.optionalKey(Schema.String),
          labels: Schema.optionalKey(Texts),
          annotations: Schema.optionalKey(Texts),
        }),
        spec: Schema.optionalKey(
          Schema.Struct({
            claimRef: Schema.optionalKey(Schema.Struct({ namespace: Schema.optionalKey(Schema.String) })),
          }),
        ),
      }),
    ),
  }),
)
const decode = Schema.decodeSync(Found)
type FoundObject = (typeof Found.Type)["items"][number]

/** Told, not made; they go by themselves. */
const untold = new Set(["events", "events.events.k8s.io", "leases.coordination.k8s.io"])

/** Every object of every kind, but for events. */
const objects = async (): Promise<ReadonlyArray<FoundObject>> => {
  const kinds = (await kubectl(["api-resources", "--verbs=list", "--output=name"]))
    .split("\n")
    .filter((kind) => kind !== "" && !untold.has(kind))
  return decode(await kubectl(["get", kinds.join(","), "--all-namespaces", "--output=json"])).items
}

const isOf =
  (prefix: string) =>
  ({ kind, metadata, spec }: FoundObject): boolean => {
    const { name, namespace = "", labels = {}, annotations = {} } = metadata
    const host = `pi-${prefix}`
    const owner = annotations["platform.di-framework.dev/instance"] ?? ""
    return (
      namespace.startsWith(host) ||
      name.includes(host) ||
      owner.startsWith(prefix) ||
      (annotations["meta.helm.sh/release-namespace"] ?? "").startsWith(host) ||
      (spec?.claimRef?.namespace ?? "").startsWith(host) ||
      (namespace.startsWith(prefix) &&
        (kind === "PlatformInstance" || labels["app.kubernetes.io/managed-by"] === "platform-operator"))
    )
  }

const below = (folder: string): ReadonlyArray<string> => (existsSync(folder) ? readdirSync(folder) : [])

/** Folders of instances in namespaces that begin so; `what` says whose. */
const folders = (what: string, root: string, prefix: string): ReadonlyArray<string> =>
  below(root)
    .filter((namespace) => namespace.startsWith(prefix))
    .flatMap((namespace) => below(join(root, namespace)).map((name) => `${what} of ${namespace}/${name}`))

/** Processes on the node, by their arguments and the folders they work in. */
const processes = async (prefix: string): Promise<ReadonlyArray<string>> => {
  const listed = await onNode(
    "sh",
    "-c",
    'for p in /proc/[0-9]*; do echo "$(tr "\\0" " " < $p/cmdline) in $(readlink $p/cwd)"; done 2> /dev/null; true',
  )
  return listed
    .split("\n")
    .filter((line) => line.includes(`/instances/${prefix}`) || line.includes(`pi-${prefix}`))
    .map((line) => `process ${line}`)
}

const leftOf = async (prefix: string): Promise<ReadonlyArray<string>> => {
  const state = await stateDirectory()
  return [
    ...(await objects())
      .filter(isOf(prefix))
      .map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`),
    ...folders("state", join(state, "instances"), prefix),
    ...below(join(state, "dropped")).map((name) => `state that was put aside: ${name}`),
    ...folders("storage root", fromNode(storageRootBase), prefix),
    ...(await processes(prefix)),
  ]
}

/** To be called once at the top of a test file, after it holds the operator. Prefixes of its namespaces. */
export const leavesNothing = (...prefixes: ReadonlyArray<string>): void => {
  afterAll(async () => {
    let left: ReadonlyArray<string> = []
    try {
      await until("nothing is left", async () => {
        left = (await Promise.all(prefixes.map(leftOf))).flat()
        return left.length === 0 ? true : undefined
      })
    } catch (error) {
      throw new Error(`left behind: ${left.join("; ")}`, { cause: error })
    }
  })
}
