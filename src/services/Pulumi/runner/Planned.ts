// Gathers from the events of a preview what would be done. What is not understood is an error: whoever decides by a plan
// must be able to rely on it.
import type { EngineEvent, StepEventMetadata } from "@pulumi/pulumi/automation/index.js"
import type { Deed, PlannedStep } from "../../../schema/Plan.ts"

export interface Planned {
  readonly onEvent: (event: EngineEvent) => void
  /** Throws when the events do not come to a whole plan. */
  readonly steps: () => ReadonlyArray<PlannedStep>
}

/** What the engine's operations come to; of a replacement each part is one. Those that do nothing have no deed. */
const deedOf: Readonly<Record<string, Deed | "none">> = {
  create: "create",
  import: "create",
  update: "update",
  replace: "replace",
  "create-replacement": "replace",
  "delete-replaced": "replace",
  "import-replacement": "replace",
  "read-replacement": "replace",
  delete: "delete",
  same: "none",
  refresh: "none",
  read: "none",
  "read-discard": "none",
  discard: "none",
  "discard-replaced": "none",
  "remove-pending-replace": "none",
}

/** Stronger ones win where one object has several. */
const order: ReadonlyArray<Deed> = ["update", "create", "delete", "replace"]

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {}

const stepOf = (deed: Deed, metadata: StepEventMetadata): PlannedStep => {
  // A replaced or deleted object is named by what is there.
  const state = metadata.old ?? metadata.new
  const inputs = fieldsOf(state?.inputs)
  const own = fieldsOf(inputs.metadata)
  // A Helm release has them on top.
  const namespace = text(own.namespace) ?? text(inputs.namespace)
  return {
    deed,
    type: metadata.type,
    name: text(own.name) ?? text(inputs.name) ?? metadata.urn.split("::").slice(3).join("::"),
    ...(namespace === undefined ? {} : { namespace }),
  }
}

/** A component is none in the target, and a provider is how it is reached. */
const isObject = (metadata: StepEventMetadata): boolean =>
  (metadata.new ?? metadata.old)?.custom === true && !metadata.type.startsWith("pulumi:")

export const makePlanned = (): Planned => {
  const steps = new Map<string, PlannedStep>()
  /** By the engine's own names, of all it has told of. */
  const told: Record<string, number> = {}
  let summary: Readonly<Record<string, number>> | undefined
  const unknown = new Set<string>()
  return {
    onEvent: (event) => {
      if (event.summaryEvent) summary = { ...event.summaryEvent.resourceChanges }
      const metadata = event.resourcePreEvent?.metadata
      if (metadata === undefined) return
      const deed = deedOf[metadata.op]
      told[metadata.op] = (told[metadata.op] ?? 0) + 1
      if (deed === undefined) unknown.add(metadata.op)
      if (deed === undefined || deed === "none" || !isObject(metadata)) return
      const known = steps.get(metadata.urn)
      if (known === undefined || order.indexOf(known.deed) < order.indexOf(deed)) {
        steps.set(metadata.urn, stepOf(deed, metadata))
      }
    },
    steps: () => {
      if (summary === undefined) throw new Error("the preview has ended without a summary")
      if (unknown.size > 0) {
        throw new Error(`the preview would do what is not known here: ${[...unknown].join(", ")}`)
      }
      for (const op of ["create", "update", "replace", "delete"]) {
        const [counted, listed] = [summary[op] ?? 0, told[op] ?? 0]
        if (counted !== listed) {
          throw new Error(`the preview counts ${counted} to ${op}, and has told of ${listed}`)
        }
      }
      return [...steps.values()]
    },
  }
}
