// One resource of the program: what became of it since the last run decides whether it is made, changed, replaced or
// left alone.
import { Deferred, Effect } from "effect"
import { parse } from "yaml"
import { at, equal } from "../kubernetes/Json.ts"
import { randomUuid } from "./Backend.ts"
import type { CliError } from "./Errors.ts"
import { checked, type Made, type ProviderError } from "./provider/Objects.ts"
import { create, destroy, diff, update } from "./provider/Provider.ts"
import {
  type Counter,
  connectionOf,
  isProvider,
  plainText,
  type Run,
  referenceOf,
  stackUrn,
  tell,
  tellError,
  urnOf,
} from "./Run.ts"
import type { PendingOperation, Properties, ResourceState } from "./Snapshot.ts"
import { type Goal, resolve, unwrapped } from "./sdk/Output.ts"

type Failure = CliError | ProviderError

/** What is there though it failed is told of with its reasons, in a list of the engine's. */
const wordsOf = (failure: Failure): string => {
  if (failure._tag !== "ProviderError" || failure.partial === undefined) return failure.message
  const [first = "", ...others] = failure.message.split("\n* ")
  return others.length === 0
    ? `1 error occurred:\n\t* ${first}\n\n`
    : `${others.length + 1} errors occurred:${[first, ...others].map((reason) => `\n\t* ${reason}`).join("")}\n\n`
}

/** The part of a kubeconfig that says which cluster it is. */
const clusterOf = (kubeconfig: string): unknown => {
  const clusters = at(parse(kubeconfig), "clusters")
  return Array.isArray(clusters) ? clusters.map((one) => at(one, "cluster")) : undefined
}

/** Another cluster is another provider. With an identifier, that alone says which cluster it is (seen). */
const diffProvider = (before: Properties, after: Properties): "same" | "update" | "replace" => {
  const [old, own] = [plainText(before, "clusterIdentifier"), plainText(after, "clusterIdentifier")]
  const [oldConfig, ownConfig] = [plainText(before, "kubeconfig"), plainText(after, "kubeconfig")]
  const isOther = old !== "" && own !== "" ? old !== own : !equal(clusterOf(oldConfig), clusterOf(ownConfig))
  if (isOther) return "replace"
  return equal(unwrapped(before), unwrapped(after)) ? "same" : "update"
}

const propertiesOf = (goal: Goal): Properties => {
  const resolved = resolve(goal.inputs)
  const inputs = typeof resolved === "object" && resolved !== null ? { ...resolved } : {}
  return isProvider(goal) ? stringified(inputs) : checked(goal.type, inputs)
}

/** What a provider is configured with are strings. */
const stringified = (inputs: Properties): Properties =>
  Object.fromEntries(
    Object.entries(inputs).map(([key, value]) => [key, typeof value === "boolean" ? String(value) : value]),
  )

export const makeStep = (
  run: Run,
  counter: Counter,
  resultOf: (goal: Goal) => Deferred.Deferred<ResourceState> | undefined,
) => {
  const { ledger } = run

  /** Does it between two entries of the journal. What is there though it failed goes into the state, too. */
  const journaled = Effect.fnUntraced(function* (
    operation: PendingOperation,
    old: ResourceState | undefined,
    work: Effect.Effect<Made, ProviderError>,
    stateOf: (made: Made) => ResourceState,
    replaced?: ResourceState,
  ) {
    yield* ledger.begin(operation)
    const made = yield* work.pipe(
      Effect.tapError(({ partial }) => {
        if (partial === undefined) return ledger.end(operation, old, old)
        const { lacks, ...found } = partial
        return ledger.end(operation, old, { ...stateOf(found), initErrors: [lacks] })
      }),
    )
    const state = stateOf(made)
    if (replaced !== undefined) ledger.note(replaced, { ...replaced, delete: true })
    yield* ledger.end(operation, old, state)
    return state
  })

  return Effect.fnUntraced(function* (goal: Goal): Effect.fn.Return<ResourceState, Failure> {
    const urn = urnOf(run, goal.type, goal.name)
    const old = ledger.base.find((one) => one.urn === urn && one.delete !== true)
    const providerResult = goal.provider === undefined ? undefined : resultOf(goal.provider)
    const provider = providerResult === undefined ? undefined : yield* Deferred.await(providerResult)
    const inputs = propertiesOf(goal)
    const bare: ResourceState = {
      urn,
      custom: true,
      type: goal.type,
      inputs,
      parent: stackUrn(run),
      ...(provider === undefined ? {} : { provider: referenceOf(provider) }),
      dependencies: [...goal.dependencies]
        .filter((one) => one !== goal.provider)
        .map(({ type, name }) => urnOf(run, type, name)),
      ...(goal.retainOnDelete ? { retainOnDelete: true } : {}),
    }
    const stateOf = (made: Made): ResourceState => ({ ...bare, ...made })
    const connection = connectionOf(run, provider)

    const told = <A>(operation: string, work: Effect.Effect<A, Failure>) => {
      tell(run, bare, "started", operation)
      return work.pipe(
        Effect.tap(() => Effect.sync(() => tell(run, bare, "done", operation))),
        Effect.tapError((error) =>
          Effect.sync(() => {
            tell(run, bare, "failed", operation)
            tellError(run, wordsOf(error))
          }),
        ),
      )
    }
    const make = (replaced?: ResourceState) => {
      const work = isProvider(goal)
        ? Effect.map(randomUuid, (id): Made => ({ id, inputs, outputs: inputs }))
        : run.dry === undefined
          ? run.remote(create(connection, bare, inputs))
          : Effect.succeed<Made>({ id: old?.id ?? "", inputs, outputs: inputs })
      return journaled({ resource: bare, type: "creating" }, undefined, work, stateOf, replaced)
    }

    if (old === undefined) {
      const state = yield* told("create", make())
      counter.add("create")
      return state
    }
    const isMoved = provider !== undefined && old.provider !== referenceOf(provider)
    const change = isProvider(goal)
      ? diffProvider(old.inputs ?? {}, inputs)
      : diff(old, inputs, provider?.inputs ?? {})
    if (isMoved || change === "replace") {
      const before = run.ledger.find(old.provider ?? "")
      // One name is not there twice: what is replaced for its own sake goes first. What follows its provider does not.
      const first = !isMoved && !isProvider(goal) && sameName(old.inputs ?? {}, inputs)
      if (first) {
        const operation: PendingOperation = { resource: old, type: "deleting" }
        yield* ledger.begin(operation)
        yield* told(
          "delete-replaced",
          run.dry === undefined ? run.remote(destroy(connectionOf(run, before), old)) : Effect.void,
        )
        yield* ledger.end(operation, old, undefined)
      }
      const state = yield* told("create-replacement", make(first ? undefined : old))
      counter.add("replace")
      return state
    }
    if (change === "same" && (old.initErrors ?? []).length === 0) {
      // Inputs are compared with inputs: a target that does not answer is not noticed.
      yield* told("same", Effect.void)
      const state: ResourceState = {
        ...old,
        ...bare,
        ...(old.outputs === undefined ? {} : { outputs: old.outputs }),
      }
      ledger.note(old, state)
      counter.add("same")
      return state
    }
    const work =
      isProvider(goal) || run.dry !== undefined
        ? Effect.succeed<Made>({ id: old.id ?? "", inputs, outputs: inputs })
        : run.remote(update(connection, old, inputs))
    const state = yield* told(
      "update",
      journaled(
        { resource: { ...bare, ...(old.id === undefined ? {} : { id: old.id }) }, type: "updating" },
        old,
        work,
        stateOf,
      ),
    )
    counter.add("update")
    return state
  })
}

const sameName = (before: Properties, after: Properties): boolean =>
  ["name", "namespace"].every((key) => equal(at(before, "metadata", key), at(after, "metadata", key)))
