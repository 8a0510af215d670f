// The priority of a pod, as the server's admission reads it off its class. After plugin/pkg/admission/priority of Kubernetes 1.35.
import { PriorityClass } from "../../../src/services/Kubernetes/Kinds.ts"
import { at, type Json, objectOf, textOf, withPath } from "./Json.ts"
import { about, type Resource } from "./Resources.ts"
import { forbidden } from "./Status.ts"
import type { Store } from "./Store.ts"

interface Class {
  readonly name: string | undefined
  readonly priority: number
  readonly preemptionPolicy: string
}

const built: ReadonlyArray<readonly [string, number]> = [
  ["system-cluster-critical", 2_000_000_000],
  ["system-node-critical", 2_000_001_000],
]

const classOf = (found: Json): Class => ({
  name: textOf(at(found, "metadata", "name")),
  priority: Number(found.value),
  preemptionPolicy: textOf(found.preemptionPolicy) ?? "PreemptLowerPriority",
})

const classNamed = (store: Store, name: string): Class | undefined => {
  const value = built.find(([system]) => system === name)?.[1]
  if (value !== undefined) return { name, priority: value, preemptionPolicy: "PreemptLowerPriority" }
  const found = store.get(PriorityClass, undefined, name)
  return found === undefined ? undefined : classOf(found)
}

const defaultClass = (store: Store): Class => {
  const found = store.list(PriorityClass).find((one) => one.globalDefault === true)
  return found === undefined
    ? { name: undefined, priority: 0, preemptionPolicy: "PreemptLowerPriority" }
    : classOf(found)
}

/** A pod with its priority; of any other kind the object as it is. Throws 403 for a class that is not there. */
export const withPriority = (store: Store, resource: Resource, object: Json): Json => {
  if (resource.kind.kind !== "Pod") return object
  const asked = textOf(at(object, "spec", "priorityClassName"))
  const found = asked === undefined || asked === "" ? defaultClass(store) : classNamed(store, asked)
  const name = textOf(at(object, "metadata", "name")) ?? ""
  if (found === undefined)
    throw forbidden(about(resource, name), `no PriorityClass with name ${asked} was found`)
  const given = at(object, "spec", "priority")
  if (given !== undefined && given !== found.priority)
    throw forbidden(
      about(resource, name),
      `the integer value of priority (${String(given)}) must not be provided in pod spec; priority admission controller computed ${found.priority} from the given PriorityClass name`,
    )
  const { priority, preemptionPolicy } = found
  return withPath(object, ["spec"], {
    ...objectOf(object.spec),
    ...(found.name === undefined ? {} : { priorityClassName: found.name }),
    priority,
    preemptionPolicy,
  })
}
