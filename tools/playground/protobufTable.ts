// Writes test/twins/kubernetes/protobuf.json: how the kinds that kubectl sends as protobuf are laid out, out of the Go types
// that carry the numbers of their fields. To be run again for another version of Kubernetes:
//   node tools/playground/protobufTable.ts <folder of k8s.io/api> <folder of k8s.io/apimachinery>
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import path from "node:path"

/** What kubectl's typed clients send a body of, by package. */
const ROOTS: Readonly<Record<string, ReadonlyArray<string>>> = {
  core: [
    "Namespace",
    "ConfigMap",
    "Secret",
    "ServiceAccount",
    "Service",
    "Pod",
    "ResourceQuota",
    "Node",
    "Event",
  ],
  apps: ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"],
  batch: ["Job", "CronJob"],
  rbac: ["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"],
  networking: ["Ingress", "NetworkPolicy"],
  policy: ["PodDisruptionBudget"],
  scheduling: ["PriorityClass"],
  coordination: ["Lease"],
  authentication: ["SelfSubjectReview"],
  authorization: ["SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"],
  meta: ["DeleteOptions"],
}

const [api, machinery] = process.argv.slice(2)
if (api === undefined || machinery === undefined)
  throw new Error("give the folders of k8s.io/api and k8s.io/apimachinery, as the Go module cache has them")

const folderOf = (group: string) =>
  group === "meta" ? path.join(machinery, "pkg/apis/meta/v1") : path.join(api, group, "v1")

interface Declared {
  readonly group: string
  readonly alias: string | undefined
  readonly fields: ReadonlyArray<{ readonly type: string; readonly tag: string }>
}

const read = (group: string): ReadonlyArray<readonly [string, Declared]> => {
  const folder = folderOf(group)
  const text = readdirSync(folder)
    .filter((file) => file.endsWith(".go") && !/_test\.go$|generated|zz_/.test(file))
    .map((file) => readFileSync(path.join(folder, file), "utf8"))
    .join("\n")
  const structs = [...text.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)].map(
    ([, name = "", body = ""]): readonly [string, Declared] => [
      `${group}.${name}`,
      {
        group,
        alias: undefined,
        fields: [...body.matchAll(/^\s*(?:(\w+)[ \t]+)?([^\s`/]+)[ \t]+`([^`]*)`/gm)].map(
          ([, , type = "", tag = ""]) => ({ type, tag }),
        ),
      },
    ],
  )
  const aliases = [...text.matchAll(/^type (\w+) ((?:\[\]|map\[)?[\w.[\]*]+)$/gm)].map(
    ([, name = "", alias = ""]): readonly [string, Declared] => [
      `${group}.${name}`,
      { group, alias, fields: [] },
    ],
  )
  return [...aliases, ...structs]
}

const declared = new Map(Object.keys(ROOTS).flatMap(read))

const SCALARS: Readonly<Record<string, string>> = {
  string: "string",
  bool: "bool",
  int32: "int",
  int64: "int",
  "[]byte": "bytes",
  "types.UID": "string",
  "types.NodeName": "string",
  "meta.Time": "time",
  "meta.MicroTime": "microTime",
  "meta.FieldsV1": "fields",
  "resource.Quantity": "quantity",
  "intstr.IntOrString": "intOrString",
  "runtime.RawExtension": "raw",
}
const PACKAGES: Readonly<Record<string, string>> = {
  v1: "core",
  apiv1: "core",
  corev1: "core",
  metav1: "meta",
  rbacv1: "rbac",
}

const table: Record<string, Record<string, ReadonlyArray<string>>> = {}

/** `string`, `[]core.Container`, `{}quantity`; what it leads to is put into the table. */
const typeOf = (group: string, type: string): string => {
  if (type.startsWith("*")) return typeOf(group, type.slice(1))
  const bare = SCALARS[type]
  if (bare !== undefined) return bare
  if (type.startsWith("[]")) return `[]${typeOf(group, type.slice(2))}`
  const map = /^map\[\w+\](.*)$/.exec(type)?.[1]
  if (map !== undefined) return `{}${typeOf(group, map)}`
  const [first = "", second] = type.split(".")
  const name = second === undefined ? `${group}.${first}` : `${PACKAGES[first] ?? first}.${second}`
  const scalar = SCALARS[name]
  if (scalar !== undefined) return scalar
  const found = declared.get(name)
  if (found === undefined)
    throw new Error(`${group}: ${type} (${name}) is not declared in the packages that are read`)
  if (found.alias === undefined) return message(name, found)
  // A list with a name of its own is a message with items in it.
  if (found.alias.startsWith("[]")) {
    table[name] ??= { 1: ["items", typeOf(found.group, found.alias), ""] }
    return name
  }
  return typeOf(found.group, found.alias)
}

const message = (name: string, { group, fields }: Declared): string => {
  if (table[name] !== undefined) return name
  const made: Record<string, ReadonlyArray<string>> = {}
  table[name] = made
  for (const { tag, type } of fields) {
    const number = /protobuf:"\w+,(\d+),/.exec(tag)?.[1]
    const json = /json:"([^",]*)(,inline)?/.exec(tag)
    if (number === undefined || json === null) continue
    // A pointer tells a zero from nothing.
    const kind = json[2] !== undefined || json[1] === "" ? "inline" : type.startsWith("*") ? "pointer" : ""
    made[number] = [json[1] ?? "", typeOf(group, type), kind]
  }
  return name
}

for (const [group, names] of Object.entries(ROOTS)) for (const name of names) typeOf(group, name)
const sorted = Object.fromEntries(Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1)))
const lines = Object.entries(sorted).map(
  ([name, fields]) => `  ${JSON.stringify(name)}: ${JSON.stringify(fields)}`,
)
writeFileSync(
  new URL("../../test/twins/kubernetes/protobuf.json", import.meta.url),
  `{\n${lines.join(",\n")}\n}\n`,
)
