// The chart under test: its values, and what real helm makes of it.
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import path from "node:path"
import { Schema } from "effect"
import { parse, parseAllDocuments } from "yaml"

export const chart = path.join(import.meta.dirname, "../../../charts/vcluster")

export type Tree = { readonly [key: string]: unknown }
export const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** What stands at a path such as `/a/b`. */
export const at = (tree: unknown, path: string): unknown =>
  path
    .split("/")
    .slice(1)
    .reduce<unknown>((value, key) => (isTree(value) ? value[key] : undefined), tree)

const decodeTree = Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.Unknown))

export const values = decodeTree(parse(readFileSync(path.join(chart, "values.yaml"), "utf8")))
export const valuesSchema = decodeTree(
  JSON.parse(readFileSync(path.join(chart, "values.schema.json"), "utf8")),
)

/** Real helm: the one that was built here, else a prebuilt one. */
const helm = execFileSync("tools/programs/prebuilt-helm.sh", { encoding: "utf8" }).trim()

export const runHelm = (args: ReadonlyArray<string>, input: unknown = {}): string =>
  execFileSync(helm, args, { input: JSON.stringify(input), encoding: "utf8", stdio: "pipe" })

const RenderedObject = Schema.Struct({
  apiVersion: Schema.String,
  kind: Schema.String,
  metadata: Schema.Struct({
    name: Schema.String,
    namespace: Schema.optionalKey(Schema.String),
    labels: Schema.Record(Schema.String, Schema.String),
  }),
  data: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  spec: Schema.optionalKey(Schema.Unknown),
  rules: Schema.optionalKey(Schema.Unknown),
})
const decodeObject = Schema.decodeUnknownSync(RenderedObject)

/** The objects of a release `vcluster` in a namespace, rendered by helm. */
export const render = (namespace: string, input: unknown = {}) =>
  parseAllDocuments(runHelm(["template", "vcluster", chart, "-n", namespace, "--values", "-"], input))
    .map((document): unknown => document.toJS())
    .filter((document) => document !== null)
    .map((document) => decodeObject(document))
