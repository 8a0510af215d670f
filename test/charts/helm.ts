// Renders a chart with the real helm, as a user's `helm template` would: without a cluster.
import { execFileSync, spawnSync } from "node:child_process"
import { parseAllDocuments } from "yaml"

export interface Rendered {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly [field: string]: unknown
}

export interface RenderOptions {
  readonly release?: string
  readonly namespace?: string
  readonly kubeVersion?: string
  readonly values?: object
}

/** Its path. */
export const helm = execFileSync("tools/programs/prebuilt-helm.sh", { encoding: "utf8" }).trim()

const run = (args: ReadonlyArray<string>, values: object = {}) =>
  spawnSync(helm, [...args, "--values=-"], {
    encoding: "utf8",
    input: JSON.stringify(values),
    env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent", KUBECONFIG: "/nonexistent" },
  })

const template = (chart: string, options: RenderOptions) =>
  run(
    [
      "template",
      options.release ?? "platform-operator",
      chart,
      `--namespace=${options.namespace ?? "operator-system"}`,
      ...(options.kubeVersion === undefined ? [] : [`--kube-version=${options.kubeVersion}`]),
    ],
    options.values,
  )

export const isRendered = (document: unknown): document is Rendered =>
  typeof document === "object" && document !== null && "kind" in document && "metadata" in document

/** The objects of a chart that renders. */
export const render = (chart: string, options: RenderOptions = {}): ReadonlyArray<Rendered> => {
  const { status, stdout, stderr } = template(chart, options)
  if (status !== 0) throw new Error(stderr)
  return parseAllDocuments(stdout)
    .map((document): unknown => {
      // A key that is there twice is an error, which helm does not see.
      if (document.errors.length > 0) throw new Error(document.errors.join("\n"))
      return document.toJS()
    })
    .filter(isRendered)
}

/** What helm says of a chart that must not render. */
export const renderFailure = (chart: string, options: RenderOptions = {}): string => {
  const { status, stderr } = template(chart, options)
  if (status === 0) throw new Error("it rendered")
  return stderr
}

/** What `helm lint --strict` says; empty when it has nothing to say against the chart. */
export const lint = (chart: string, values: object): string => {
  const { status, stdout, stderr } = run(["lint", "--strict", "--quiet", chart], values)
  return status === 0 ? "" : `${stdout}${stderr}`
}

export const find = (objects: ReadonlyArray<Rendered>, kind: string, name?: string): Rendered => {
  const found = objects.filter(
    (object) => object.kind === kind && (name === undefined || object.metadata.name === name),
  )
  if (found.length !== 1 || found[0] === undefined)
    throw new Error(
      `${found.length} of ${kind} ${name ?? ""}: ${objects.map((o) => `${o.kind}/${o.metadata.name}`)}`,
    )
  return found[0]
}

/** What lies there in an object; `undefined` where the way ends. */
export const pick = (from: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : undefined),
    from,
  )
