// `kubectl pi rotate-passphrase`: another passphrase for the state of all instances. Each step looks for itself whether it is
// done; a command that was interrupted is given again and goes on.
import { Console, Effect, Option, Redacted, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { newPassphrase } from "./BackupFile.ts"
import { cannot, getJson, Kubectl, misused, type Where } from "./Kubectl.ts"
import { NAMESPACE } from "./logs.ts"
import { findOperator, getIfThere } from "./Operator.ts"
import {
  ANNOTATION_REPLICAS,
  endOf,
  Job,
  JobPods,
  jobName,
  lacksRotation,
  NEXT,
  type Operator,
  ROTATED,
  rotationJob,
  rotationSecret,
  rotationSecretName,
  Secret,
  UNTOUCHED,
} from "./RotationObjects.ts"
import { AGAIN, answer, step, where } from "./root.ts"
import { plain } from "./Words.ts"

/** Longer than the operator's pod may take to end. */
const POD_END = "5 minutes"

const Names = Schema.Struct({
  items: Schema.Array(Schema.Struct({ metadata: Schema.Struct({ name: Schema.String }) })),
})

const findSecret = (place: Where, name: string) => getIfThere(Secret, place, ["secrets", name])

/** What there is at this moment. */
const look = Effect.fnUntraced(function* (place: Where) {
  const operator = yield* findOperator(place, "rotate by hand")
  const found = yield* findSecret(place, operator.secret)
  if (Option.isNone(found) || (found.value.data?.[operator.key] ?? "") === "") {
    return yield* cannot(
      `Secret ${place.namespace}/${operator.secret} has no key ${operator.key}: put the passphrase back first`,
    )
  }
  if (found.value.immutable === true) {
    return yield* cannot(
      `Secret ${place.namespace}/${operator.secret} is immutable: it could not get the new passphrase; make it anew without that, with the same content`,
    )
  }
  const rotation = yield* findSecret(place, rotationSecretName(operator))
  const isStopped = operator.deployment.metadata.annotations?.[ANNOTATION_REPLICAS] !== undefined
  const next = Option.flatMap(rotation, ({ data }) => Option.fromNullishOr(data?.[NEXT]))
  const secret: Secret = found.value
  return { operator, secret, rotation, next, isStopped }
})
type Look = Effect.Success<ReturnType<typeof look>>

/** With the version that was read: who has changed it meanwhile is not overwritten. */
const put = Effect.fnUntraced(function* (place: Where, object: object, isNew: boolean) {
  const kubectl = yield* Kubectl
  const verb = isNew ? "create" : "replace"
  yield* kubectl.feed(place, [verb, "--filename=-"], Redacted.make(JSON.stringify(object)))
})

const writeNext = Effect.fnUntraced(function* (place: Where, { operator, rotation }: Look) {
  // Nobody has to remember it.
  const next = Buffer.from(newPassphrase()).toString("base64")
  const before = Option.match(rotation, { onNone: () => ({}), onSome: ({ data }) => data ?? {} })
  const object = rotationSecret(operator, place.namespace ?? "", rotation, { ...before, [NEXT]: next })
  yield* put(place, object, Option.isNone(rotation))
  yield* step(`a new passphrase is in Secret ${rotationSecretName(operator)}`)
})

const patchDeployment = Effect.fnUntraced(function* (place: Where, { deployment }: Operator, patch: object) {
  const kubectl = yield* Kubectl
  yield* kubectl.run(place, [
    "patch",
    "deployment",
    deployment.metadata.name,
    "--type=merge",
    `--patch=${JSON.stringify(patch)}`,
  ])
})

const podsOf = Effect.fnUntraced(function* (place: Where, { deployment }: Operator) {
  const labels = Object.entries(deployment.spec.selector.matchLabels).map(
    ([name, value]) => `${name}=${value}`,
  )
  const { items } = yield* getJson(Names, place, ["pods", `--selector=${labels.join(",")}`])
  return items.map(({ metadata }) => metadata.name)
})

/** Fails when somebody has started it again. */
const checkStopped = Effect.fnUntraced(function* (place: Where) {
  const { deployment } = yield* findOperator(place, "rotate by hand")
  if (
    deployment.spec.replicas === 0 &&
    deployment.metadata.annotations?.[ANNOTATION_REPLICAS] !== undefined
  ) {
    return
  }
  return yield* cannot(
    `somebody has started Deployment ${deployment.metadata.name} in the middle of the rotation (a GitOps tool, a helm upgrade?): keep it from that, then ${AGAIN}`,
  )
})

const untilNoPods = Effect.fnUntraced(function* (place: Where, operator: Operator) {
  let pods = yield* podsOf(place, operator)
  while (pods.length > 0) {
    yield* Effect.sleep("2 seconds")
    yield* checkStopped(place)
    pods = yield* podsOf(place, operator)
  }
})

const stop = Effect.fnUntraced(function* (place: Where, { operator, isStopped }: Look) {
  const { deployment } = operator
  if (!isStopped) {
    const replicas = String(deployment.spec.replicas ?? 1)
    yield* patchDeployment(place, operator, {
      metadata: { annotations: { [ANNOTATION_REPLICAS]: replicas } },
      spec: { replicas: 0 },
    })
  } else if (deployment.spec.replicas !== 0)
    yield* patchDeployment(place, operator, { spec: { replicas: 0 } })
  yield* step(`the operator is being stopped: Deployment ${deployment.metadata.name}`)
  yield* untilNoPods(place, operator).pipe(
    Effect.timeoutOrElse({
      duration: POD_END,
      orElse: () =>
        cannot(
          `a pod of the operator has not ended within ${POD_END}: kubectl -n ${place.namespace} get pods says which; when it has, ${AGAIN}`,
        ),
    }),
  )
})

const start = Effect.fnUntraced(function* (place: Where) {
  const operator = yield* findOperator(place, "rotate by hand")
  const replicas = operator.deployment.metadata.annotations?.[ANNOTATION_REPLICAS]
  if (replicas === undefined) return
  yield* patchDeployment(place, operator, {
    metadata: { annotations: { [ANNOTATION_REPLICAS]: null } },
    spec: { replicas: /^\d+$/.test(replicas) ? Number(replicas) : 1 },
  })
  yield* step(`the operator is started again, with ${replicas} replica${replicas === "1" ? "" : "s"}`)
})

/** With its pods: none of them is at work afterwards. */
const deleteJob = Effect.fnUntraced(function* (place: Where, operator: Operator) {
  const kubectl = yield* Kubectl
  yield* kubectl.run(place, [
    "delete",
    "job",
    jobName(operator),
    "--ignore-not-found",
    "--cascade=foreground",
    "--wait=true",
    "--timeout=120s",
  ])
})

const ofJob = (operator: Operator) => `--selector=batch.kubernetes.io/job-name=${jobName(operator)}`

const exitCodeOf = Effect.fnUntraced(function* (place: Where, operator: Operator) {
  const { items } = yield* getJson(JobPods, place, ["pods", ofJob(operator)])
  return items[0]?.status?.containerStatuses?.[0]?.state?.terminated?.exitCode
})

const untilEnded = Effect.fnUntraced(function* (place: Where, operator: Operator) {
  while (true) {
    const job = yield* getIfThere(Job, place, ["jobs", jobName(operator)])
    if (Option.isNone(job)) {
      return yield* cannot(`somebody has deleted the Job ${jobName(operator)}: ${AGAIN}`)
    }
    const end = endOf(job.value)
    if (end !== undefined) return end
    yield* checkStopped(place).pipe(Effect.tapError(() => deleteJob(place, operator)))
    yield* Effect.sleep("2 seconds")
  }
})

/** Gives what it says in the end. */
const runJob = Effect.fnUntraced(function* (place: Where, { operator, secret, rotation }: Look) {
  const kubectl = yield* Kubectl
  const current = secret.data?.[operator.key]
  const rotated = Option.flatMap(rotation, ({ data }) => Option.fromNullishOr(data?.[ROTATED]))
  // One of a command that was interrupted may be at work, with another Secret mounted.
  yield* deleteJob(place, operator)
  yield* checkStopped(place)
  const hasRotated = Option.isSome(rotated) && rotated.value !== current
  const job = rotationJob(operator, place.namespace ?? "", hasRotated)
  yield* kubectl.feed(place, ["create", "--filename=-"], Redacted.make(JSON.stringify(job)))
  yield* step(`Job ${jobName(operator)} gives everything in claim ${operator.claim} the new passphrase`)
  const end = yield* untilEnded(place, operator)
  const log = yield* kubectl
    .run(place, ["logs", `job/${jobName(operator)}`, "--tail=20"])
    .pipe(Effect.orElseSucceed(() => end.message))
  if (end.succeeded) return { log, undo: false, failed: false }
  const exitCode = yield* exitCodeOf(place, operator)
  const isOld = lacksRotation(log)
  return {
    log: isOld
      ? "the operator's image is of a release that cannot rotate: upgrade it first"
      : log || end.message,
    undo: exitCode === UNTOUCHED || isOld,
    failed: true,
  }
})

/** Everything is as it was before: the new passphrase is of no use. */
const undo = Effect.fnUntraced(function* (place: Where) {
  const { operator, rotation } = yield* look(place)
  const rest = Object.entries(Option.getOrUndefined(rotation)?.data ?? {}).filter(([key]) => key !== NEXT)
  yield* put(
    place,
    rotationSecret(operator, place.namespace ?? "", rotation, Object.fromEntries(rest)),
    false,
  )
  yield* deleteJob(place, operator)
  yield* start(place)
})

/** First where the operator reads it; until the second write is done, the rotation goes on from the first. */
const publish = Effect.fnUntraced(function* (place: Where) {
  const { operator, secret, rotation, next } = yield* look(place)
  if (Option.isNone(next))
    return yield* cannot(`Secret ${rotationSecretName(operator)} has lost its key ${NEXT}`)
  yield* put(
    place,
    { apiVersion: "v1", kind: "Secret", ...secret, data: { ...secret.data, [operator.key]: next.value } },
    false,
  )
  yield* step(`Secret ${operator.secret} has the new passphrase`)
  yield* put(
    place,
    rotationSecret(operator, place.namespace ?? "", rotation, { [ROTATED]: next.value }),
    false,
  )
})

/** After a failure of kubectl's: whether there is something to go on with. */
const tellBegun = Effect.fnUntraced(function* (place: Where) {
  const { next, isStopped } = yield* look(place)
  if (Option.isSome(next) || isStopped) yield* step(`the rotation is begun: ${AGAIN}`)
})

const intention = (namespace: string, { operator, next, isStopped }: Look): string =>
  [
    `${namespace}/${operator.deployment.metadata.name}: ${Option.isSome(next) || isStopped ? "a rotation was begun, and goes on" : "a rotation"}`,
    `  1. a new passphrase is ${Option.isSome(next) ? "already" : "made"} in Secret ${rotationSecretName(operator)}`,
    `  2. the operator is stopped: no install, repair or deletion begins or goes on; what is installed runs on`,
    `  3. a Job gives everything in claim ${operator.claim} that the passphrase in Secret ${operator.secret} opens the new one`,
    `  4. Secret ${operator.secret} gets the new passphrase, and the operator is started again`,
    "Backups made before need the passphrase of then",
  ].join("\n")

const rotate = Effect.fnUntraced(function* (place: Where, found: Look) {
  if (Option.isNone(found.next) && found.isStopped) {
    // All but the last steps were done.
    yield* deleteJob(place, found.operator)
    yield* start(place)
    return "the rotation that was begun had all but ended"
  }
  if (Option.isNone(found.next)) yield* writeNext(place, found)
  yield* stop(place, yield* look(place))
  const { log, failed, undo: isUndone } = yield* runJob(place, yield* look(place))
  if (failed && isUndone) {
    yield* undo(place)
    return yield* cannot(`${plain(log)}\nEverything is as it was, and the operator is started again`)
  }
  if (failed) {
    return yield* cannot(
      `${plain(log)}\nThe operator stays stopped, because some of it may have the new passphrase; Secret ${rotationSecretName(found.operator)} has both. Once that is mended, ${AGAIN}`,
    )
  }
  yield* publish(place)
  yield* deleteJob(place, found.operator)
  yield* start(place)
  return plain(log)
})

export const rotatePassphrase = Command.make(
  "rotate-passphrase",
  {
    yes: Flag.Boolean("yes").pipe(
      Flag.withDescription("Do it; without it what would be done is told, and nothing is written"),
      Flag.withDefault(false),
    ),
    operatorNamespace: Flag.String("operator-namespace").pipe(
      Flag.withMetavar("NAMESPACE"),
      Flag.withDescription(`Where the operator runs (default that of -n, or ${NAMESPACE})`),
      Flag.optional,
    ),
  },
  Effect.fnUntraced(function* ({ yes, operatorNamespace }) {
    const given = yield* where
    const namespace = Option.getOrElse(operatorNamespace, () => given.namespace ?? NAMESPACE)
    const place = { ...given, namespace }
    const found = yield* look(place)
    if (!yes) {
      yield* Console.error(intention(namespace, found))
      return yield* misused("nothing was written: --yes does it")
    }
    const done = yield* rotate(place, found).pipe(
      // Nothing is asked of the API server any more: what it was told last may or may not have happened.
      Effect.onInterrupt(() =>
        step(`interrupted: the operator may stay stopped until the rotation has ended; ${AGAIN}`),
      ),
      Effect.tapError(({ message }) =>
        message.includes(AGAIN) ? Effect.void : Effect.ignore(tellBegun(place)),
      ),
    )
    const about = `${namespace}/${found.operator.secret}`
    yield* answer({ secret: about, done }, () => `${about}: the passphrase is rotated; ${done}`)
  }),
).pipe(
  Command.withDescription(
    "Gives the state of all instances a new passphrase, with the operator stopped meanwhile; interrupted, the same command goes on",
  ),
  Command.withExamples([
    { command: "kubectl pi rotate-passphrase" },
    { command: "kubectl pi rotate-passphrase -n platform-operator --yes" },
  ]),
)
