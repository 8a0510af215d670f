// The pages of docs/ that have generated parts, as they should read now.
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { annotationTable } from "./annotations.ts"
import { columnTable, fieldTable, kindTable, ruleTable } from "./fields.ts"
import { flagTable } from "./flags.ts"
import { withGeneratedParts } from "./Markdown.ts"
import { metricTableOf } from "./metrics.ts"
import { piHelp } from "./pi.ts"
import { conditionTable, eventTable, reasonIndex, reasonTable } from "./reasons.ts"
import { traceAttributeTable, traceSpanTable } from "./traces.ts"
import { valueTable } from "./values.ts"

const platform = "spec.platform"
const tenancy = [`${platform}.tenants[]`, `${platform}.users[]`, `${platform}.tenantAuth`]
const chart = "charts/platform-operator"

export const pagesWithParts = [
  "docs/reference.md",
  "docs/reasons.md",
  "docs/install.md",
  "docs/kubectl-pi.md",
  "docs/traces.md",
  "docs/metrics.md",
] as const

/** Every generated part by its name. `root` is the repository. */
export const generatedParts = async (root: string): Promise<ReadonlyMap<string, string>> =>
  new Map([
    ["kind", kindTable()],
    ["annotations", annotationTable()],
    ["columns", columnTable()],
    ["spec", fieldTable("spec.", [platform])],
    ["platform", fieldTable(`${platform}.`, tenancy)],
    ["tenants", fieldTable(`${platform}.tenants[].`)],
    ["users", fieldTable(`${platform}.users[].`)],
    ["tenant-auth", fieldTable(`${platform}.tenantAuth.`)],
    ["rules", ruleTable()],
    ["status", fieldTable("status.", ["status.applied", "status.target", "status.conditions[]"])],
    ["applied", fieldTable("status.applied.")],
    ["target", fieldTable("status.target.")],
    ["conditions", conditionTable()],
    ["reasons", reasonTable()],
    ["reason-index", reasonIndex()],
    ["spans", traceSpanTable()],
    ["span-attributes", traceAttributeTable()],
    ["events", eventTable()],
    ["metrics-controller", metricTableOf("controller")],
    ["metrics-operator", metricTableOf("operator")],
    ["metrics-instance", metricTableOf("instance")],
    ["metrics-process", metricTableOf("process")],
    ["flags", await Effect.runPromise(flagTable)],
    ["pi", await Effect.runPromise(piHelp)],
    [
      "values",
      valueTable(
        await readFile(join(root, chart, "values.schema.json"), "utf8"),
        await readFile(join(root, chart, "values.yaml"), "utf8"),
      ),
    ],
  ])

/** Path and content of each page, its generated parts as they are now. */
export const currentPages = async (root: string): Promise<ReadonlyMap<string, string>> => {
  const parts = await generatedParts(root)
  return new Map(
    await Promise.all(
      pagesWithParts.map(
        async (path) => [path, withGeneratedParts(await readFile(join(root, path), "utf8"), parts)] as const,
      ),
    ),
  )
}
