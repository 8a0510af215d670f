// What an administrator has installed before an operator runs: the CRD and the operator's least rules, as the chart has
// them.
import { readFileSync } from "node:fs"
import { Schema } from "effect"
import { parse, parseAllDocuments } from "yaml"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeManifest, ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { remember } from "../pulumi/remember.ts"

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8")

const decode = Schema.decodeUnknownSync(
  Schema.StructWithRest(
    Schema.Struct({
      apiVersion: Schema.String,
      kind: Schema.String,
      metadata: Schema.StructWithRest(
        Schema.Struct({ name: Schema.String, namespace: Schema.optionalKey(Schema.String) }),
        [Schema.Record(Schema.String, Schema.Unknown)],
      ),
    }),
    [Schema.Record(Schema.String, Schema.Unknown)],
  ),
)

const manifest = (input: unknown): KubeManifest => {
  const { metadata, ...rest } = decode(input)
  const { name, namespace } = metadata
  return { ...rest, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } }
}

export const crd: KubeManifest = manifest(parse(read("crd/platforminstances.yaml")))

const roleKinds: ReadonlyArray<ResourceKind> = [
  Kinds.Role,
  Kinds.RoleBinding,
  Kinds.ClusterRole,
  Kinds.ClusterRoleBinding,
]

export interface Written {
  readonly kind: ResourceKind
  readonly manifest: KubeManifest
}

/** What the template sets a variable to. */
const variable = (text: string, name: string): string => {
  const value = new RegExp(`\\{\\{- \\$${name} := "(.*)" -\\}\\}`).exec(text)?.[1]
  if (value === undefined) throw new Error(`rbac.yaml sets no $${name}`)
  return value
}

/**
 * The chart's rules with `rbac.clusterAdmin: false`. Its template has few and simple actions, so that they are replaced
 * here; that Helm makes the same of it is tested with the chart.
 */
export const operatorRules = (namespace: string, cleanupNamespace: string): ReadonlyArray<Written> =>
  rulesFor(namespace)(cleanupNamespace)

/** Thousands of worlds have the same. */
const rulesFor = remember((namespace) => remember((cleanup) => renderRules(namespace, cleanup)))

const renderRules = (namespace: string, cleanupNamespace: string): ReadonlyArray<Written> => {
  const template = read("charts/platform-operator/templates/rbac.yaml")
  const text = template
    .replaceAll(/\{\{- if [\s\S]*?\{\{- end \}\}\n/g, "")
    .replaceAll(/^ *(labels:|\{\{- (?!if|end).*\}\})\n/gm, "")
    .replaceAll("{{ $all }}", variable(template, "all"))
    .replaceAll("{{ $name }}", "platform-operator")
    .replaceAll("{{ .Release.Namespace }}", namespace)
    .replaceAll('{{ include "platform-operator.cleanupNamespace" . }}', cleanupNamespace)
  if (text.includes("{{")) throw new Error(`an action of rbac.yaml is not known here: ${text}`)
  return parseAllDocuments(text).map((document) => {
    const written = manifest(document.toJS())
    const kind = roleKinds.find((each) => each.kind === written.kind)
    if (kind === undefined) throw new Error(`rbac.yaml has a ${written.kind}`)
    return { kind, manifest: written }
  })
}
