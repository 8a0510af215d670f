// `preview --refresh`: what `up` would do to the target as it is now. The same engine, on a journal that nobody keeps, with
// a provider that is asked to look and to do nothing. What a real one does not know before it is made, this one takes for
// known: outputs are as the inputs.
import { Effect } from "effect"
import { deeds, type PlannedStep } from "../../../src/schema/Plan.ts"
import { at } from "../kubernetes/Json.ts"
import { makeLedger } from "./Ledger.ts"
import { keptPending, refresh } from "./Refresh.ts"
import { makeCounter, type Run, type Told } from "./Run.ts"
import type { Deployment } from "./Snapshot.ts"
import { unwrapped } from "./sdk/Output.ts"
import { type Start, up } from "./Up.ts"

const deedOf = (operation: string): PlannedStep["deed"] | undefined =>
  operation.endsWith("-replacement") || operation === "delete-replaced"
    ? "replace"
    : deeds.find((deed) => deed === operation)

const textAt = (value: unknown, ...path: ReadonlyArray<string>): string | undefined => {
  const found = at(unwrapped(value), ...path)
  return typeof found === "string" && found !== "" ? found : undefined
}

const stepOf = (deed: PlannedStep["deed"], { type, urn, inputs }: Told): PlannedStep => {
  const namespace = textAt(inputs, "metadata", "namespace") ?? textAt(inputs, "namespace")
  return {
    deed,
    type,
    name: textAt(inputs, "metadata", "name") ?? textAt(inputs, "name") ?? urn.split("::").slice(3).join("::"),
    ...(namespace === undefined ? {} : { namespace }),
  }
}

/** A journal that is written nowhere. */
const unkept = (deployment: Deployment) => makeLedger(deployment, () => Effect.succeed(""))

export const preview = Effect.fnUntraced(function* (
  before: Deployment,
  runOn: (ledger: Run["ledger"]) => Run,
  start: Start,
) {
  const ledger = yield* unkept({ ...before, pending: keptPending(before.pending, true) })
  yield* refresh({ ...runOn(ledger), emit: () => {} }, makeCounter())
  const steps = new Map<string, PlannedStep>()
  const hear = (operation: string, told: Told) => {
    const deed = deedOf(operation)
    if (deed === undefined || !told.custom || told.type.startsWith("pulumi:")) return
    if (steps.get(told.urn)?.deed !== "replace") steps.set(told.urn, stepOf(deed, told))
  }
  const dry: Run = {
    ...runOn(yield* unkept(ledger.deployment())),
    emit: (event) => {
      if (event.type === "diagnostic") runOn(ledger).emit(event)
    },
    dry: hear,
  }
  yield* up(dry, start, makeCounter())
  return [...steps.values()]
})
