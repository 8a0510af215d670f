// The operator of a cluster, as this program finds it: its Deployment, and what a program in its pod says.
import { Data, Effect, Option, Schema, Stream } from "effect"
import { formatKey, type InstanceKey } from "../schema/InstanceKey.ts"
import { Claim } from "../services/Backup/Claims.ts"
import { cannot, getJson, Kubectl, type PiError, type Where } from "./Kubectl.ts"
import { SELECTOR } from "./logs.ts"
import { Deployments, type Operator, operatorOf } from "./RotationObjects.ts"
import { plain } from "./Words.ts"

/** In its namespace. `otherwise`: what is left to do where it was not installed by its chart. */
export const findOperator = Effect.fnUntraced(function* (place: Where, otherwise: string) {
  const { items } = yield* getJson(Deployments, place, ["deployments", SELECTOR])
  const [deployment, ...others] = items
  if (deployment === undefined) {
    return yield* cannot(
      `no Deployment of the operator is in namespace ${place.namespace}: --operator-namespace names another one`,
    )
  }
  if (others.length > 0) {
    const names = items.map(({ metadata }) => metadata.name).join(", ")
    return yield* cannot(
      `namespace ${place.namespace} has several operators: ${names}; which of them has the state cannot be told`,
    )
  }
  return yield* Effect.mapError(Effect.fromOption(operatorOf(deployment)), () =>
    cannot(
      `Deployment ${place.namespace}/${deployment.metadata.name} does not have its state from a claim and its passphrase from a Secret, as the chart makes it: ${otherwise}`,
    ),
  )
})

/** Of what it holds nothing is said, not even where it is not understood. */
export const getIfThere = Effect.fnUntraced(function* <A>(
  schema: Schema.Codec<A, unknown>,
  place: Where,
  args: ReadonlyArray<string>,
) {
  const kubectl = yield* Kubectl
  const text = yield* kubectl.run(place, ["get", ...args, "--ignore-not-found", "--output=json"])
  if (text.trim() === "") return Option.none<A>()
  return yield* Schema.decodeEffect(Schema.fromJsonString(schema))(text).pipe(
    Effect.asSome,
    Effect.mapError(() =>
      cannot(
        `kubectl get ${args.join(" ")} gave something that is not understood here; use the kubectl-pi of the operator's release`,
      ),
    ),
  )
})

/** Of whatever kind. */
export const isThere = (place: Where, args: readonly [kind: string, name: string]) =>
  Effect.map(getIfThere(Schema.Struct({}), place, args), Option.isSome)

/** Of the operator's image: no release before this program's has it. */
const PROGRAM = "/opt/platform-operator/backup.mjs"

/** What it says of the state of an instance. */
const Found = Schema.fromJsonString(
  Schema.Struct({
    /** Of records. */
    format: Schema.Finite,
    operatorVersion: Schema.String,
    /** Of the vCluster chart that the operator installs. */
    chartVersion: Schema.String,
    state: Schema.Literals(["none", "there"]),
    restored: Schema.optionalKey(Schema.String),
    restoredAt: Schema.optionalKey(Schema.String),
    busy: Schema.optionalKey(Schema.String),
    stamp: Schema.optionalKey(Schema.String),
    version: Schema.optionalKey(Schema.String),
    kubeSystemUID: Schema.optionalKey(Schema.String),
  }),
)

export class StateBusy extends Data.TaggedError("StateBusy")<{ readonly what: string }> {}

/** The operator, in its namespace, and the instance that it is asked about. */
export interface Call {
  readonly place: Where
  readonly operator: Operator
  readonly key: InstanceKey
}

/** With where the instance is, and its host namespace. */
export interface Place {
  readonly call: Call
  readonly own: Where
  readonly inHost: Where
}

/** A program that was killed has no words. */
const endedWith = (code: string): string =>
  code === "137"
    ? "what ran for this in the operator's pod was killed (exit code 137), as is done where memory runs out: give the operator more by the value resources.limits.memory of its chart, and give the command again"
    : `what ran for this in the operator's pod ended without a word (exit code ${code}): give the command again`

/** Runs in the operator's pod, beside it: nobody else has the state directory and the passphrase. */
const run = Effect.fnUntraced(function* (
  { place, operator, key }: Call,
  mode: "find" | "claims" | "export" | "import" | "adapt",
  args: ReadonlyArray<string>,
  input: Stream.Stream<Uint8Array, PiError>,
) {
  const kubectl = yield* Kubectl
  const { deployment, container, stateDir } = operator
  const command = [
    ...["exec", "--stdin", `deployment/${deployment.metadata.name}`, `--container=${container.name}`, "--"],
    ...["node", PROGRAM, mode, `--state-dir=${stateDir}`, `--instance=${formatKey(key)}`, ...args],
  ]
  return yield* Effect.mapError(kubectl.pipe(place, command, input), ({ message }) => {
    if (message.includes("Cannot find module")) {
      return cannot(
        `the operator in namespace ${place.namespace} is of a release that cannot do this: upgrade it first`,
      )
    }
    const code = /command terminated with exit code (\d+)/.exec(message)?.[1]
    const words = message.replaceAll(/\n?command terminated with exit code \d+/g, "").trim()
    if (code === "3") return new StateBusy({ what: words })
    return cannot(words === "" ? endedWith(code ?? "") : plain(words))
  })
})

const neverBusy = <A, R>(said: Effect.Effect<A, PiError | StateBusy, R>): Effect.Effect<A, PiError, R> =>
  Effect.mapError(said, (error) => (error._tag === "StateBusy" ? cannot(error.what) : error))

export const findState = Effect.fnUntraced(function* (call: Call) {
  const text = yield* neverBusy(run(call, "find", [], Stream.empty))
  return yield* Schema.decodeEffect(Found)(new TextDecoder().decode(text)).pipe(
    Effect.mapError(() =>
      cannot("the operator says something that is not understood here; use the kubectl-pi of its release"),
    ),
  )
})

const Claims = Schema.fromJsonString(Schema.Array(Claim))

/** What every other instance has of the node, by the operator's records. */
export const findClaims = Effect.fnUntraced(function* (call: Call) {
  const text = yield* neverBusy(run(call, "claims", [], Stream.empty))
  return yield* Schema.decodeEffect(Claims)(new TextDecoder().decode(text)).pipe(
    Effect.mapError(() =>
      cannot("the operator says something that is not understood here; use the kubectl-pi of its release"),
    ),
  )
})

const withPassphrase = (
  passphrase: string,
  rest: Stream.Stream<Uint8Array, PiError> = Stream.empty,
): Stream.Stream<Uint8Array, PiError> =>
  Stream.concat(Stream.make(new TextEncoder().encode(`${passphrase}\n`)), rest)

/** The state of an instance, its secrets under this passphrase. */
export const exportState = (call: Call, passphrase: string) =>
  run(call, "export", [`--passphrase-file=${call.operator.passphraseFile}`], withPassphrase(passphrase))

/** Puts it in place as this instance's, its secrets under the operator's passphrase. */
export const importState = (
  call: Call,
  {
    id,
    isClone,
    statePassphrase,
    state,
  }: {
    readonly id: string
    readonly isClone: boolean
    readonly statePassphrase: string
    readonly state: Stream.Stream<Uint8Array, PiError>
  },
) =>
  neverBusy(
    run(
      call,
      "import",
      [`--passphrase-file=${call.operator.passphraseFile}`, `--id=${id}`, ...(isClone ? ["--clone"] : [])],
      withPassphrase(statePassphrase, state),
    ),
  )

/** Lets the state that was put in place reach the vCluster that is there now. */
export const adaptState = (call: Call, id: string, kubeconfig: string) =>
  neverBusy(
    run(
      call,
      "adapt",
      [`--passphrase-file=${call.operator.passphraseFile}`, `--id=${id}`],
      Stream.make(new TextEncoder().encode(kubeconfig)),
    ),
  )
